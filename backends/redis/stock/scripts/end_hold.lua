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
--- include parts/counted.lua
local attempt, how = unpack(ARGV)
return run(function()
  call('HDEL', meta, '')
  local hold = ask('HGET', held, attempt)
  if not hold then return {'ok'} end
  load()
  local parts = mine(string.match(hold, '^%d+ (%S+)'))
  local steps = how == 'confirm' and {{book, 'taken', total(parts)}} or {}
  for _, part in ipairs(parts) do
    steps[#steps + 1] = {set_aside, part[1], -part[2]}
    if how == 'cancel' then steps[#steps + 1] = {gain, part[1], part[2]} end
  end
  return counted(steps, function()
    call('HDEL', held, attempt)
    return {'ok'}
  end)
end)
