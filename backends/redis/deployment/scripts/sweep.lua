-- SPDX-License-Identifier: Apache-2.0
-- Deletes the counter of tokens of a lock without a holder. One that is a day older than the clock is not needed: the clock
-- alone makes the next token larger.
-- KEYS: key, fence. ARGV: whether to delete
-- 1: it was not needed
local key, fence = unpack(KEYS)
if redis.call('EXISTS', key) == 1 then return 0 end
local time = redis.call('TIME')
local last = tonumber(redis.call('GET', fence) or '')
if not last or last > (time[1] - 86400) * 1000000 + time[2] then return 0 end
if ARGV[1] == '1' then redis.call('DEL', fence) end
return 1
