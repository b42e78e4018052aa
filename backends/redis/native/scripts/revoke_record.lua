-- SPDX-License-Identifier: Apache-2.0
-- As revoke.lua, with the key of the records alone, of holders that were seen to hold it.
-- KEYS: holders. ARGV: wake, who asks, owner, token, owner, token, ...
-- {asked, how many}
local holders, call, asked = KEYS[1], redis.call, 0
--- include parts/ask_back.lua
for i = 3, #ARGV, 2 do
  local record = call('HGET', holders, ARGV[i])
  if record and string.match(record, '^%S+') == ARGV[i + 1] then
    ask_back(ARGV[i], record, ARGV[2])
    asked = asked + 1
    redis.pcall('PUBLISH', ARGV[1] .. ARGV[i], 'asked')
  end
end
return {'asked', asked}
