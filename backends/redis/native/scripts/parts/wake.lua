-- SPDX-License-Identifier: Apache-2.0
local function leave_queue(waiter)
  call('HDEL', waiting, waiter)
  return call('ZREM', queue, waiter) == 1
end
-- Tells the first waiter that listens; unless the lock is free, not one that waits for nothing else. A waiter whose
-- connection is gone leaves the queue: it comes back to its old place if it lives. While the queue is `unsettled` all keep
-- their places: those who live are not all back after an outage. Where channels are refused waiters look by themselves.
local function wake(is_free, unsettled)
  local place = 0
  for _ = 1, 1000 do
    local waiter = call('ZRANGE', queue, place, place)[1]
    if not waiter then return end
    local mode, polls = string.match(call('HGET', waiting, waiter) or '', '^%S+ %S+ (%S+) (%S+)')
    if mode == 'w' and not is_free then
      place = place + 1
    else
      local heard = try('PUBLISH', ARGV[1] .. waiter, 'free')
      if type(heard) == 'table' or heard > 0 or polls == '1' then return end
      if unsettled then place = place + 1 else leave_queue(waiter) end
    end
  end
end
