-- SPDX-License-Identifier: Apache-2.0
-- Common part of the scripts of Redisson's layout. "Now" is the server's clock, here as in each of them.
-- KEYS: the lock; holders: hash, FIELD -> "TOKEN SINCE_MS 0 ENTRY,ENTRY,... INFO", which Redisson never reads; then
-- what the kind has.
-- ARGV: channel, verbs ("PUBLISH,SPUBLISH": both are heard on a cluster), stem of what is called after the lock, FIELD.
-- FIELD is the holder's name in Redisson's own data.
local key, holders = unpack(KEYS)
local channel, verbs, stem, me = unpack(ARGV)
local call, try = redis.call, redis.pcall
local time = call('TIME')
local us = time[1] * 1e6 + time[2]
local ms = math.floor(us / 1000)
local kind = call('TYPE', key).ok
-- Where publishing is refused, waiters look by themselves.
local function tell(where, what)
  for verb in string.gmatch(verbs, '%a+') do try(verb, where, what) end
end
