-- SPDX-License-Identifier: Apache-2.0
-- Beginning of take_at_once_*.lua. KEYS: meta, quantity, open, the record of the request. ARGV: segment, how many
-- segments the stock has, quantity
-- Returns nothing, or fails, if the request or the stock is not as those of most takes; nothing has changed then, and
-- take.lua has the answer.
local call = redis.call
local meta, quantity, request = KEYS[1], KEYS[2], KEYS[4]
local segment, number = ARGV[1], ARGV[3]
local shape = call('HMGET', meta, 'made', 'segments', 'taken')
local made, taken = shape[1], shape[3]
if not made or shape[2] ~= ARGV[2] or not taken or call('EXISTS', request, KEYS[3]) > 0 then return end
