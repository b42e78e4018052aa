-- SPDX-License-Identifier: Apache-2.0
-- Leaves no more than `target` in this slot, once for each epoch.
-- ARGV: made, epoch, segments, target
-- {out, given, left} {over}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
--- include parts/level_to.lua
local wanted, epoch, number, target = unpack(ARGV)
epoch = tonumber(epoch)
return run(function()
  local old = ask('HMGET', meta, 'moved', 'out', 'left')
  local moved = tonumber(old[1] or 0)
  if wanted ~= made or moved > epoch then return {'over'} end
  if moved == epoch then return {'out', old[2], old[3]} end
  sweep()
  load()
  local left = math.min(sum_free, tonumber(target))
  local out = sum_free - left
  level_to(tonumber(number), left)
  call('HSET', meta, 'moved', epoch, 'out', out, 'left', left, 'poured', '0')
  return {'out', decimal(out), decimal(left)}
end)
