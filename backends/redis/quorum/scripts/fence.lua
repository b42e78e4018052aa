-- SPDX-License-Identifier: Apache-2.0
-- Lets a token pass unless a higher one was seen. Tokens may be longer than what a number of Lua holds.
-- KEYS: key, the highest token seen. ARGV: wake, token
-- {passed} {lower, seen}
local highest, token = KEYS[2], ARGV[2]
local seen = redis.call('GET', highest) or '0'
if #seen > #token or #seen == #token and seen > token then return {'lower', seen} end
redis.call('SET', highest, token)
return {'passed'}
