-- SPDX-License-Identifier: Apache-2.0
-- Records of requests end by themselves; a new stock of that name does not believe them. What was dropped is not made anew
-- by somebody who comes too late.
-- ARGV: made and born, or "" and ""
-- {ok}
--- after counters_*.lua
local made, born = unpack(ARGV)
local shape = try('HMGET', meta, 'made', 'segments')
if shape.err then return {'failed', shape.err} end
if not shape[1] and made == '' then return {'none'} end
-- What a full server allows goes first.
call('HDEL', meta, '')
if made ~= '' then call('SET', meta .. ':dead', born, 'PX', '86400000') end
if not shape[1] or made ~= '' and shape[1] ~= made then return {'ok'} end
for segment = FIRST, math.max(FIRST, (tonumber(shape[2]) or 1) - 1), STEP do forget(segment) end
call('DEL', meta, quantity, reserved, open, ends, held, credits, refused)
return {'ok'}
