-- SPDX-License-Identifier: Apache-2.0
-- Common part of the scripts of a lock.
-- KEYS: the lock itself; the last token; holders: hash, owner -> "TOKEN SINCE_MS DELAY_MS ENTRY,ENTRY,... INFO", where an
-- entry is one acquisition, the holder's or, inside it, an older dlock's, and INFO ends with the slot of a permit; ends: zset, shared or permit holder -> end of its lease;
-- queue: zset, waiter -> arrival; waiting: hash, waiter -> "ALIVE_MS SINCE_MS MODE POLLS INFO" (mode w: takes nothing;
-- ALIVE_MS < 0: wake.lua).
-- ARGV[1]: what the channels of waiters begin with.
local lock, fence, holders, ends, queue, waiting = unpack(KEYS)
local call, try = redis.call, redis.pcall
local time = call('TIME')
local us = time[1] * 1e6 + time[2]
local ms = math.floor(us / 1000)
-- Of a key that is not a string: its type. A GET that is refused is an answer.
local value, kind = try('GET', lock), 'string'
if type(value) == 'table' then
  kind = call('TYPE', lock).ok
  if kind == 'string' or kind == 'none' then return value end
  value = kind
elseif value and #value > 65536 then
  -- No lock is that long: foreign data.
  kind = 'string of ' .. #value .. ' bytes'
  value = kind
end
-- Shared and permit holders stand in `ends`, and the lock has a marker instead of an owner.
local function is_marked() return value and string.find(value, '^dlock:') end
