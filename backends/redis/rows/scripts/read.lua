-- SPDX-License-Identifier: Apache-2.0
-- KEYS: the group's hash, and the keys of rows that are many. ARGV: fields of the hash
-- {server us, {field "" (commit.lua), fields}, {values of the keys}}
local time = redis.call('TIME')
local many = #KEYS > 1 and redis.call('MGET', unpack(KEYS, 2)) or {}
return {time[1] .. string.format('%06d', time[2]), redis.call('HMGET', KEYS[1], '', unpack(ARGV)), many}
