-- SPDX-License-Identifier: Apache-2.0
-- Reads all of it, and changes nothing.
-- ARGV: ... kind
-- {us, type, pttl, content, holders, extra, waiting}; extra: fenced {token}; fair {FIELD, end, ...} in the order of the queue,
-- 1000 at most; rw {reader, rest of its longest read or -2, ...}
--- include parts/prologue.lua
--- include parts/readers.lua
local asked, extra, waiting, content = ARGV[5], {}, {}, {}
local function read(...)
  local found = try(...)
  if type(found) == 'table' and found.err then return {} end
  return found
end
if kind == 'hash' then
  content = call('HGETALL', key)
elseif kind == 'string' then
  local value = call('GET', key)
  if #value > 65536 then kind = 'string of ' .. #value .. ' bytes' else content = {value} end
end
if asked == 'fenced' then
  extra = {read('GET', KEYS[3]) or ''}
elseif asked == 'fair' then
  for _, field in ipairs(read('LRANGE', KEYS[3], 0, 999)) do
    extra[#extra + 1] = field
    extra[#extra + 1] = read('ZSCORE', KEYS[4], field) or '0'
  end
  waiting = read('HGETALL', KEYS[5])
elseif asked == 'rw' then
  for i = 1, #content, 2 do
    if is_reader(content[i]) then
      extra[#extra + 1] = content[i]
      extra[#extra + 1] = rest_of(content[i], content[i + 1])
    end
  end
end
return {string.format('%.0f', us), kind, call('PTTL', key), content, read('HGETALL', holders), extra, waiting}
