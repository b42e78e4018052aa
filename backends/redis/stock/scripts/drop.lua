-- SPDX-License-Identifier: Apache-2.0
-- Records of requests end by themselves; a new stock of that name does not believe them.
-- {ok} {none}
--- after counters_*.lua
local shape = try('HMGET', meta, 'made', 'segments')
if shape.err then return {'failed', shape.err} end
if not shape[1] then return {'none'} end
for segment = 0, (tonumber(shape[2]) or 1) - 1 do forget(segment) end
call('DEL', meta, quantity, reserved, open, ends)
return {'ok'}
