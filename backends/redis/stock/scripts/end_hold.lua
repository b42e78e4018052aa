-- SPDX-License-Identifier: Apache-2.0
-- ARGV: attempt, "confirm" or "cancel"
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/load.lua
--- include parts/mine.lua
--- include parts/gain.lua
--- include parts/set_aside.lua
--- include parts/total.lua
local attempt, how = unpack(ARGV)
return run(function()
  call('HDEL', meta, '')
  local hold = ask('HGET', held, attempt)
  if not hold then return {'ok'} end
  load()
  local parts = mine(string.match(hold, '^%d+ (%S+)'))
  call('HDEL', held, attempt)
  for _, part in ipairs(parts) do
    set_aside(part[1], -part[2])
    if how == 'cancel' then gain(part[1], part[2]) end
  end
  if how == 'confirm' then call('HINCRBY', meta, 'taken', total(parts)) end
  return {'ok'}
end)
