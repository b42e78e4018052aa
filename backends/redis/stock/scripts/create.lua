-- SPDX-License-Identifier: Apache-2.0
-- ARGV: maker, created, quantity of each segment...
-- {made} {exists}
--- after counters_*.lua
local maker, created = ARGV[1], ARGV[2]
local old = try('HGET', meta, 'made')
if type(old) == 'table' then return {'failed', old.err} end
if old then return {old == maker and 'made' or 'exists'} end
call('DEL', meta, quantity, reserved, open, ends)
local segments = #ARGV - 2
for segment = 0, segments - 1 do
  put(segment, tonumber(ARGV[segment + 3]))
  call('HSET', reserved, segment, '0')
end
call('HSET', meta, 'made', maker, 'segments', segments, 'created', created, 'added', '0', 'taken', '0', 'refunded', '0')
return {'made'}
