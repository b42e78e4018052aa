-- SPDX-License-Identifier: Apache-2.0
-- Common part of the scripts of RedLock and Tair; after it comes how the key is changed, then parts/holder.lua.
-- KEYS: key, the last token, the record of the holder: hash, owner -> "TOKEN SINCE_MS DELAY_MS ENTRY,ENTRY,... INFO",
-- who has freed it by force: hash, owner -> text.
-- ARGV: introduce, owner, ttl in ms, number, flag, entry, info, start
-- {state, us, pttl, holder, token, run_id, uptime, record}; state 1: ours, 0: free, -1: another's, -2: another kind of
-- key (record: its type), -3: the server started lately. Everything is read before anything is written.
local key, fence, holders, forced = unpack(KEYS)
local introduce, owner, px, number, flag, entry, info, start = unpack(ARGV)
px = tonumber(px)
local call, try = redis.call, redis.pcall
local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local counter = tonumber(call('GET', fence) or 0) or 0
