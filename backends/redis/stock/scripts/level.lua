-- SPDX-License-Identifier: Apache-2.0
-- ARGV: segments, or "": as many as there are
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
--- include parts/level_to.lua
return run(function()
  sweep()
  load()
  local number = segments
  if ARGV[1] ~= '' then number = tonumber(ARGV[1]) end
  level_to(number, sum_free)
  return {'ok'}
end)
