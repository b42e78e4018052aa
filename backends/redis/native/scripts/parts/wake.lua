-- SPDX-License-Identifier: Apache-2.0
local function leave_queue(waiter)
  call('HDEL', waiting, waiter)
  return call('ZREM', queue, waiter) == 1
end
-- A waiter that is missed is gone if nothing was heard of it for 6 s more: after an outage, a failover or a moved slot
-- those who live are not all back, which look at least every 5 s. Until then the time stands in its record, negative.
-- Returns whether it is gone, and whether it is missed from now on.
local function is_gone(waiter, missed)
  local ending, rest = string.match(call('HGET', waiting, waiter) or '', '^(%S+)(.*)$')
  if not ending then return true end
  ending = tonumber(ending)
  if ending < 0 then return -ending <= ms end
  if not missed and ending > ms then return false end
  call('HSET', waiting, waiter, -(ms + 6000) .. rest)
  return false, true
end
-- Notifies the first waiter that listens; unless the lock is free, not one that waits for nothing else. Where channels are
-- refused waiters look by themselves.
local function wake(is_free)
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
      if is_gone(waiter, true) then leave_queue(waiter) else place = place + 1 end
    end
  end
end
