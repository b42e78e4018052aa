-- SPDX-License-Identifier: Apache-2.0
-- Holds the parts in this slot for a request of another one.
-- ARGV: made, id, attempt, parts, ttl ms
-- {held} {short}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
--- include parts/join.lua
local wanted, id, attempt, text, ttl = unpack(ARGV)
return run(function()
  if wanted ~= made then return {'short'} end
  if ask('HEXISTS', held, attempt) == 1 then return {'held'} end
  sweep()
  load()
  local parts = mine(text)
  for _, part in ipairs(parts) do
    if not free[part[1]] or free[part[1]] < part[2] then return {'short'} end
  end
  for _, part in ipairs(parts) do
    change(part[1], -part[2])
    set_aside(part[1], part[2])
  end
  call('HSET', held, attempt, decimal(ms + ttl) .. ' ' .. join(parts) .. ' ' .. id)
  return {'held'}
end)
