-- SPDX-License-Identifier: Apache-2.0
-- Deletes data that is not a lock, if it is still what was shown. ARGV: its type, and of a string its value or its length.
-- {freed} {conflict}
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' then
  local value = redis.call('GET', KEYS[1])
  kind = #value > 65536 and 'string of ' .. #value .. ' bytes' or 'string ' .. value
end
if kind ~= ARGV[1] then return {'conflict'} end
redis.call('DEL', KEYS[1])
return {'freed'}
