-- SPDX-License-Identifier: Apache-2.0
-- Takes the lock from its holders, if they are exactly those that were shown.
-- ARGV: wake, '1' if a lock-delay alone was shown, owner, token, owner, token, ...
-- {freed} {conflict} {foreign, type}
--- include parts/prologue.lua
--- include parts/prune.lua
--- include parts/wake.lua
if kind ~= 'string' then return {'foreign', value} end
prune()
local tokens, count = {}, 0
if is_marked() then
  for _, owner in ipairs(call('ZRANGE', ends, 0, -1)) do
    tokens[owner] = '0'
    count = count + 1
  end
elseif value then
  tokens[value] = '0'
  count = 1
end
local delay = 0
for owner in pairs(tokens) do
  local record = call('HGET', holders, owner)
  if record then
    tokens[owner] = string.match(record, '^%S+')
    delay = math.max(delay, tonumber(string.match(record, '^%S+ %S+ (%S+)')))
  end
end

if ARGV[2] == '1' then delay = 0 end
if count ~= (#ARGV - 2) / 2 then return {'conflict'} end
for i = 3, #ARGV, 2 do
  if tokens[ARGV[i]] ~= ARGV[i + 1] then return {'conflict'} end
end
if count > 0 then
  local shared = is_marked()
  call('DEL', lock, holders, ends)
  for i = 3, shared and #ARGV or 0, 2 do try('PUBLISH', ARGV[1] .. ARGV[i], 'freed') end
  if delay > 0 then call('SET', lock, 'dlock-delay', 'PX', delay) else wake(true) end
end
return {'freed'}
