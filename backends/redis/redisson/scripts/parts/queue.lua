-- SPDX-License-Identifier: Apache-2.0
-- The queue, which only a fair lock has: of a fenced one KEYS[3] is the last token.
local queue, timeouts, waiting = KEYS[5] and KEYS[3], KEYS[4], KEYS[5]
local function leave_front(field)
  call('LPOP', queue)
  call('ZREM', timeouts, field)
  call('HDEL', waiting, field)
end

-- Those at the front whose time is over are out of it. True: there were some.
local function pass_over()
  local passed = false
  while true do
    local first = call('LINDEX', queue, 0)
    local ending = first and call('ZSCORE', timeouts, first)
    if not first or ending and tonumber(ending) > ms then return passed end
    leave_front(first)
    passed = true
  end
end

-- Those who wait hear that it is free. Each waiter of a fair lock has a channel of its own.
local function tell_first()
  if not queue then return tell(channel, '0') end
  pass_over()
  local first = call('LINDEX', queue, 0)
  if first then tell(channel .. ':' .. first, '0') end
end
