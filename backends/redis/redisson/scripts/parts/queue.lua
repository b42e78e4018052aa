-- SPDX-License-Identifier: Apache-2.0
-- The queue of a fair lock.
local queue, timeouts, waiting = KEYS[4], KEYS[5], KEYS[6]
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
