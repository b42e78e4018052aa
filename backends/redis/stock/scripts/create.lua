-- SPDX-License-Identifier: Apache-2.0
-- ARGV: maker, born or "" (the first slot), making or "", segments, created, quantity of each place...
-- {made, born} {exists} {dropping}
--- after counters_*.lua
local maker, born, making, segments, created = unpack(ARGV, 1, 5)
local old = try('HMGET', meta, 'made', 'born', 'dropping')
if old.err then return {'failed', old.err} end
local time = call('TIME')
if old[1] == maker then return {'made', old[2] or ''} end
if born == '' then
  if old[1] and old[3] then return {'dropping'} end
  if old[1] then return {'exists'} end
  local dead = tonumber(ask('GET', meta .. ':dead') or '0') or 0
  born = decimal(math.max(time[1] * 1000000 + time[2], dead + 1))
elseif tonumber(old[1] and old[2] or 0) >= tonumber(born) or tonumber(ask('GET', meta .. ':dead') or 0) >= tonumber(born) then
  return {'made', born}
end
call('DEL', meta, quantity, reserved, open, ends, held, credits, refused)
for i = 6, #ARGV do
  local segment = FIRST + (i - 6) * STEP
  put(segment, tonumber(ARGV[i]))
  call('HSET', reserved, segment, '0')
end
call('HSET', meta, 'made', maker, 'segments', segments, 'created', created, 'added', '0', 'taken', '0', 'refunded', '0')
if STEP > 1 then call('HSET', meta, 'born', born, 'gains', '0') end
if making ~= '' then call('HSET', meta, 'making', making) end
return {'made', born}
