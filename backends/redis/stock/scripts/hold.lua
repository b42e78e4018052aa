-- SPDX-License-Identifier: Apache-2.0
-- Holds the parts in this slot for a request of another one.
-- ARGV: made, id, attempt, parts, ttl ms
-- {held} {short}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
--- include parts/join.lua
--- include parts/counted.lua
--- include parts/check_taken.lua
--- include parts/total.lua
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
  check_taken(total(parts))
  local steps = {}
  for _, part in ipairs(parts) do
    steps[#steps + 1] = {change, part[1], -part[2]}
    steps[#steps + 1] = {set_aside, part[1], part[2]}
  end
  return counted(steps, function()
    call('HSET', held, attempt, decimal(ms + ttl) .. ' ' .. join(parts) .. ' ' .. id)
    return {'held'}
  end)
end)
