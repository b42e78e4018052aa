-- SPDX-License-Identifier: Apache-2.0
-- Adds to the records of holders who asks them to end, which they read when they renew. What was asked first stays.
-- Shared and permit holders get a message to look; the one of an exclusive lock hears of the change.
-- ARGV: wake, that, owner, token, owner, token, ...
-- {asked, how many} {foreign}: all are another client's
--- include parts/prologue.lua
--- include parts/ask_back.lua
local asked, foreign = 0, 0
for i = 3, #ARGV, 2 do
  local owner = ARGV[i]
  local ending = kind == 'string' and is_marked() and call('ZSCORE', ends, owner)
  local holds = value == owner or ending and tonumber(ending) > ms
  local record = holds and call('HGET', holders, owner)
  if not record then
    if holds or kind ~= 'string' then foreign = foreign + 1 end
  elseif string.match(record, '^%S+') == ARGV[i + 1] then
    ask_back(owner, record, ARGV[2])
    asked = asked + 1
    if ending then try('PUBLISH', ARGV[1] .. owner, 'asked') end
  end
end
if asked == 0 and foreign > 0 then return {'foreign'} end
return {'asked', asked}
