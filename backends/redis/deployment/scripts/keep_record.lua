-- SPDX-License-Identifier: Apache-2.0
-- Makes the record of a holder last, with its own key alone. One that is not there is not made anew.
-- KEYS: holders. ARGV: FIELD, lease in ms, how the command has ended, or ""
-- {kept, record} {none}
--- include parts/ran.lua
local holders = KEYS[1]
local field, px, ran = unpack(ARGV)
local record = redis.call('HGET', holders, field)
if not record then return {'none'} end
if ran ~= '' then
  record = with_ran(record, ran)
  redis.call('HSET', holders, field, record)
end
local delay = tonumber(string.match(record, '^%S+ %S+ (%d+)')) or 0
redis.call('PEXPIRE', holders, math.max(redis.call('PTTL', holders), px + delay))
return {'kept', record}
