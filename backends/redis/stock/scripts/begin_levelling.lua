-- SPDX-License-Identifier: Apache-2.0
-- ARGV: made, epoch, plan
-- {ok} {not}
--- after counters_*.lua
--- include parts/run.lua
local wanted, epoch, plan = unpack(ARGV)
return run(function()
  local before, levelling, still, making, dropping = unpack(
    ask('HMGET', meta, 'epoch', 'levelling', 'still', 'making', 'dropping'))
  if wanted ~= made or levelling or making or dropping or tonumber(still or 0) > ms then return {'not'} end
  if tonumber(before or 0) + 1 ~= tonumber(epoch) then return {'not'} end
  call('HSET', meta, 'levelling', plan)
  return {'ok'}
end)
