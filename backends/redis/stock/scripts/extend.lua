-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, owner, ttl ms
-- {ok} {over}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
local id, owner, ttl = unpack(ARGV)
return run(function()
  call('HDEL', meta, '')
  sweep()
  if reservation(id) ~= owner then return {'over'} end
  call('ZADD', ends, ms + ttl, id)
  return {'ok'}
end)
