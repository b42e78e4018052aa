-- SPDX-License-Identifier: Apache-2.0
-- The queue of a fair lock.
local queue, timeouts, waiting = KEYS[4], KEYS[5], KEYS[6]
local function leave_front(field)
  call('LPOP', queue)
  call('ZREM', timeouts, field)
  call('HDEL', waiting, field)
end

-- Those at the front whose time is over are out of it.
local function pass_over()
  while true do
    local first = call('LINDEX', queue, 0)
    if not first then return end
    local ending = call('ZSCORE', timeouts, first)
    if ending and tonumber(ending) > ms then return end
    leave_front(first)
  end
end
