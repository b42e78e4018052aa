-- SPDX-License-Identifier: Apache-2.0
-- Takes in what the levelling brings to this slot, once for each epoch.
-- ARGV: made, epoch, quantity
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
--- include parts/level_to.lua
local wanted, epoch, number = unpack(ARGV)
return run(function()
  local old = ask('HMGET', meta, 'moved', 'poured')
  if wanted ~= made or tonumber(old[1] or 0) ~= tonumber(epoch) or old[2] == '1' then return {'ok'} end
  sweep()
  load()
  call('HINCRBY', meta, 'gains', '1')
  level_to(segments, sum_free + tonumber(number))
  call('HSET', meta, 'poured', '1')
  return {'ok'}
end)
