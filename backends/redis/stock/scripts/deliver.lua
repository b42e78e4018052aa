-- SPDX-License-Identifier: Apache-2.0
-- Brings what another slot owes, once: the record says that it was done.
-- ARGV: made, "refunded" or "added", parts, keep ms
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/load.lua
--- include parts/nearest.lua
--- include parts/split.lua
--- include parts/gain.lua
--- include parts/total.lua
--- include parts/counted.lua
local wanted, counter, text, keep = unpack(ARGV)
return run(function()
  if wanted ~= made or ask('GET', request) == made then return {'ok'} end
  call('HDEL', meta, '')
  load()
  local parts = split(text)
  local steps = {{book, counter, total(parts)}}
  for _, part in ipairs(parts) do steps[#steps + 1] = {gain, nearest(part[1]), part[2]} end
  return counted(steps, function()
    call('SET', request, made, 'PX', keep)
    return {'ok'}
  end)
end)
