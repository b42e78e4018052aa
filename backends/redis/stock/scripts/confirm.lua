-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, owner, keep ms
-- {ok, parts} {over}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/recorded.lua
--- include parts/sweep.lua
--- include parts/lists.lua
--- include parts/record.lua
--- include parts/counted.lua
local id, owner, keep = unpack(ARGV)

-- To this owner, whatever became of it, or at once.
local function is_sold(old)
  if old.owner == '-' then return old.state == 'T' end
  return old.owner == owner and (old.state == 'T' or old.state == 'G')
end

return run(function()
  local old = recorded()
  if old and is_sold(old) then
    call('PEXPIRE', request, keep)
    return {'ok', old.parts}
  end
  call('HDEL', meta, '')
  sweep()
  local holder, number, parts = reservation(id)
  if holder ~= owner then return {'over'} end
  load()
  local here = split(parts)
  local steps = {{book, 'taken', total(here)}}
  for _, part in ipairs(here) do steps[#steps + 1] = {set_aside, part[1], -part[2]} end
  return counted(steps, function()
    call('ZREM', ends, '')
    record('T', number, parts, holder, 0, keep)
    call('ZREM', ends, id)
    call('HDEL', open, id)
    return {'ok', parts}
  end)
end)
