-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock, or says who is in the way, and enters the queue if asked to.
-- ARGV: wake, me, mode x|s|p, px, permits, info, flags (e: enqueue, f: fair, p: polls, w: only wait),
-- arrival or "", delay ms, alive ms, names of slots "A,B,..." or "" (0, 1, ...)
-- {granted, token, slot or nothing} {busy, pttl, rank, arrival, foreign, mute} {conflict, what} {free}
-- Each grant writes, a repeated one too: WAIT speaks of its own connection's last write.
--- include parts/prologue.lua
--- include parts/prune.lua
--- include parts/wake.lua
-- Of what has more than the 14 digits that Lua writes.
local function decimal(number) return string.format('%.0f', number) end
local _, me, mode, px, permits, info, flags, arrival, delay, alive, slots = unpack(ARGV)
px = tonumber(px)
local function asked(flag) return string.find(flags, flag) end
local enqueues, only_waits = asked('e'), asked('w')

local marker = me
if mode == 's' then
  marker = 'dlock:shared'
elseif mode == 'p' then
  marker = 'dlock:permits:' .. permits
end

local function is_holder(owner) return value == owner or is_marked() and call('ZSCORE', ends, owner) end

local function record_of(owner)
  local record = call('HGET', holders, owner)
  if record then return string.match(record, '^(%S+) (%S+) (%S+) (%S+) (.*)$') end
end

-- A holder of a permit has a slot, which no other one has: the last part of INFO. A record without one has none.
local function slot_of(info) return string.match(info, '^[^\31]*\31[^\31]*\31[^\31]*\31[^\31]*\31([^\31]*)') end

-- The first of the slots that we may have; the others cannot have all of them. None if a holder's record is gone (evicted,
-- deleted): it has one all the same, but it is not known which.
local function free_slot()
  local taken = {}
  for _, owner in ipairs(value and call('ZRANGE', ends, 0, -1) or {}) do
    local record = call('HGET', holders, owner)
    if not record then return end
    taken[slot_of(record) or ''] = true
  end
  for slot in string.gmatch(slots, '[^,]+') do
    if not taken[slot] then return slot end
  end
  for number = 0, slots == '' and permits - 1 or -1 do
    if not taken[tostring(number)] then return tostring(number) end
  end
end

-- We have it: an answer was lost. The lease begins again.
local function repeat_grant()
  if not is_holder(me) then return end
  local token, _, _, _, our_info = record_of(me)
  if not token then return end
  local keep = math.max(px, call('PTTL', lock))
  call('PEXPIRE', lock, keep)
  call('PEXPIRE', holders, keep)
  if is_marked() then
    call('ZADD', ends, ms + px, me)
    call('PEXPIRE', ends, keep)
  end
  return {'granted', token, slot_of(our_info)}
end

-- How many wait before us. A waiter that stands first and is gone leaves; once it is missed, so are all others that are
-- silent: the 6 s of those who died together are the same.
local function rank()
  while true do
    local first = call('ZRANGE', queue, 0, 0)[1]
    if not first or first == me then break end
    local gone, newly_missed = is_gone(first)
    for _, waiter in ipairs(newly_missed and call('ZRANGE', queue, 1, -1) or {}) do
      if waiter ~= me then is_gone(waiter) end
    end
    if not gone then break end
    leave_queue(first)
  end
  return call('ZRANK', queue, me) or call('ZCARD', queue)
end

-- Do those before us leave it to us? To an exclusive one never; to others if all ask for the same and `room` is left.
-- Who only waits (w) takes none of it, and who is gone leaves.
local function is_our_turn(room)
  local before = rank()
  if before == 0 or mode == 'x' then return before == 0 end
  for _, waiter in ipairs(call('ZRANGE', queue, 0, before - 1)) do
    if is_gone(waiter) then
      leave_queue(waiter)
    else
      local its_mode = string.match(call('HGET', waiting, waiter), '^%S+ %S+ (%S+)')
      if its_mode ~= 'w' then
        room = room - 1
        if its_mode ~= mode or mode == 'p' and room == 0 then return false end
      end
    end
  end
  return true
end

-- Beyond 2^53 numbers of Lua have gaps: there the server counts by itself, up to where it refuses.
local function draw_token()
  local last = tonumber(call('GET', fence) or 0)
  if last and last + 1 < 2 ^ 53 then
    local token = decimal(math.max(last + 1, us))
    call('SET', fence, token)
    return token
  end
  call('INCR', fence)
  return call('GET', fence)
end

-- The lock itself comes last, and what only its renewal or its release needs is asked for before: a user who may not do
-- that is refused while nothing is held.
local slot
local function grant()
  local keep = math.max(px, call('PTTL', lock))
  if not is_marked() then keep = px end
  -- The first change is one that needs memory: a server without any refuses only that.
  local token = draw_token()
  leave_queue(me)
  call('ZRANGE', queue, 0, 0)
  if not value then call('DEL', holders, ends) end
  local record = token .. ' ' .. ms .. ' ' .. delay .. ' ' .. me .. ' ' .. info
  call('HGET', holders, me)
  call('PEXPIRE', holders, keep)
  call('HSET', holders, me, slot and record .. '\31' .. slot or record)
  call('PEXPIRE', holders, keep)
  if mode ~= 'x' then
    call('ZADD', ends, ms + px, me)
    call('ZSCORE', ends, me)
    call('ZCARD', ends)
    call('PEXPIRE', ends, keep)
    wake(false)
  end
  call('SET', lock, marker, 'PX', keep)
  return {'granted', token, slot}
end

local mute = 0
local function enter_queue()
  if arrival == '' then
    arrival = decimal(us)
    -- On a channel without a listener: what is refused to us is refused to those who should wake us.
    if type(try('PUBLISH', ARGV[1], 'queued')) == 'table' then mute = 1 end
  end
  local since = math.floor(arrival / 1000)
  local wants = only_waits and 'w' or mode
  local polls = asked('p') and '1' or '0'
  try('ZADD', queue, arrival, me)
  try('HSET', waiting, me, ms + alive .. ' ' .. since .. ' ' .. wants .. ' ' .. polls .. ' ' .. info)
  try('PEXPIRE', queue, 3600000)
  try('PEXPIRE', waiting, 3600000)
end

if kind == 'string' then
  prune()
  local answer = value and repeat_grant()
  if answer then return answer end
end
if only_waits and not value then return {'free'} end
local open, room = not value, tonumber(permits)
if kind == 'string' and is_marked() and mode ~= 'x' then
  if value ~= marker then return {'conflict', value} end
  room = room - call('ZCARD', ends)
  open = mode == 's' or room > 0
end
if open and mode == 'p' then
  slot = free_slot()
  if not slot then open, room = false, 0 end
end
if open and not only_waits and (mode == 'x' and not asked('f') or is_our_turn(room)) then return grant() end
if enqueues then enter_queue() end
local before = rank()
-- For the waiters in front, each in its turn, those permits come back whose leases end first.
local left = call('PTTL', lock)
if mode == 'p' and room == 0 then
  local ending = call('ZRANGE', ends, before, before, 'WITHSCORES')[2]
  if ending then left = ending - ms end
end
-- Its holder is not in our books.
local foreign = value and (kind ~= 'string' or not is_marked() and call('HEXISTS', holders, value) == 0)
return {'busy', left, before, arrival, foreign and 1 or 0, mute}
