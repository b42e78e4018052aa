-- SPDX-License-Identifier: Apache-2.0
-- As renew.lua, of a shared or permit holder, with the key of the leases' ends alone.
-- KEYS: ends. ARGV: owner, px, exact, delay
-- {renewed} {lost}
local ends, call = KEYS[1], redis.call
local owner, px, exact, delay = unpack(ARGV)
local time = call('TIME')
local ms = math.floor((time[1] * 1e6 + time[2]) / 1000)
local ending, keep = tonumber(call('ZSCORE', ends, owner) or 0), px + delay
if ending - ms <= tonumber(delay) then return {'lost'} end
call('ZADD', ends, exact == '1' and ms + keep or math.max(ms + keep, ending), owner)
call('PEXPIRE', ends, math.max(call('PTTL', ends), keep))
return {'renewed'}
