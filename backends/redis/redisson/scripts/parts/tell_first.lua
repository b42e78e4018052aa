-- SPDX-License-Identifier: Apache-2.0
--- include parts/tell.lua
--- include parts/queue.lua
-- Each waiter of a fair lock has a channel of its own.
local function tell_first()
  pass_over()
  local first = call('LINDEX', queue, 0)
  if first then tell(channel .. ':' .. first, '0') end
end
