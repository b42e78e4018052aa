-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock of the kind fair, in the order of its queue. KEYS: ... queue: list of FIELDs; timeouts: zset, FIELD -> when
-- it is passed over; waiting: hash, FIELD -> "SINCE_MS INFO" of those that are dlock, which Redisson never reads.
-- In busy the place is how many stand before us; of a lock that is free pttl is until the first of them is passed over.
--- include parts/prologue.lua
--- include parts/hash_attempt.lua
--- include parts/queue.lua
local their_wait = 300000
if kind ~= 'none' and kind ~= 'hash' or call('HEXISTS', key, 'mode') == 1 then return busy_foreign() end
local queue_kind, timeouts_kind = call('TYPE', queue).ok, call('TYPE', timeouts).ok
if queue_kind ~= 'none' and queue_kind ~= 'list' then return bad('the queue', queue_kind) end
if timeouts_kind ~= 'none' and timeouts_kind ~= 'zset' then return bad('the queue', timeouts_kind) end
local answer = repeat_grant()
if answer then return answer end

-- How many stand before us, and how long each of them may take: one of dlock, or of Redisson.
local function place()
  local before, patience = 0, 0
  for _, field in ipairs(call('LRANGE', queue, 0, -1)) do
    if field == me then return before, patience, true end
    before = before + 1
    patience = patience + (call('HEXISTS', waiting, field) == 1 and wait or their_wait)
  end
  return before, patience, false
end

local passed = pass_over()
local before, patience, is_in = place()
if kind == 'none' and before == 0 then
  if is_in then
    leave_front(me)
    for _, field in ipairs(call('ZRANGE', timeouts, 0, -1)) do call('ZINCRBY', timeouts, -wait, field) end
  end
  return grant('0')
end
local rest = call('PTTL', key)
if kind == 'none' then
  local first = call('LINDEX', queue, 0)
  rest = math.max(call('ZSCORE', timeouts, first) - ms, 0)
  -- The waiter before it was dead, and no other message comes.
  if passed then tell(channel .. ':' .. first, '0') end
end
-- A waiter that is not heard of for `wait` when its turn has come is passed over, by Redisson's rule: so we say when that is, each
-- time again.
if string.find(flags, 'q') then
  if not is_in then
    call('RPUSH', queue, me)
    call('HSET', waiting, me, ms .. ' ' .. info)
  end
  call('ZADD', timeouts, ms + patience + wait, me)
  call('PEXPIRE', waiting, wait * 3)
end
return {'busy', rest, before, 0}
