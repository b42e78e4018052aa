-- SPDX-License-Identifier: Apache-2.0
-- ARGV: segments, or "": as many as there are
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
--- include parts/place.lua
-- The text of parts whose segments are gone: they go to those that are, with what is set aside.
local function move(text)
  local parts = split(text)
  for _, part in ipairs(parts) do
    local from, to = part[1], place(part[1])
    if to ~= from then
      aside[from], part[1] = aside[from] - part[2], to
      aside[to] = (aside[to] or 0) + part[2]
    end
  end
  return join(parts)
end

return run(function()
  sweep()
  load()
  local number = segments
  if ARGV[1] ~= '' then number = tonumber(ARGV[1]) end
  local before, moved = segments, {}
  segments = number
  if number < before then
    for _, id in ipairs(ask('HKEYS', open)) do
      local owner, taken, parts = reservation(id)
      moved[#moved + 1] = {open, id, owner .. ' ' .. decimal(taken) .. ' ' .. move(parts)}
    end
  end
  -- A user who may not write or delete is refused before anything has changed.
  call('HDEL', meta, '')
  forget(before)
  put(0, free[0])
  call('HSET', meta, 'segments', before)
  for _, hash in ipairs(moved) do call('HSET', hash[1], hash[2], hash[3]) end
  for segment = 0, number - 1 do
    put(segment, math.floor(sum_free / number) + (segment < sum_free % number and 1 or 0))
    call('HSET', reserved, segment, aside[segment] or 0)
  end
  for segment = number, before - 1 do
    forget(segment)
    call('HDEL', reserved, segment)
  end
  call('HSET', meta, 'segments', number)
  free = nil
  return {'ok'}
end)
