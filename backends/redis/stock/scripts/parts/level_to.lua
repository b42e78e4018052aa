-- SPDX-License-Identifier: Apache-2.0
--- include parts/load.lua
--- include parts/nearest.lua
--- include parts/split.lua
--- include parts/join.lua
--- include parts/attempt_of.lua
--- include parts/reservation.lua
-- The text of parts whose segments are no more: they go to those that are, with what is set aside.
local function move(text)
  local parts = split(text)
  for _, part in ipairs(parts) do
    local from, to = part[1], nearest(part[1])
    if from % STEP == FIRST and to ~= from then
      aside[from], part[1] = aside[from] - part[2], to
      aside[to] = (aside[to] or 0) + part[2]
    end
  end
  return join(parts) .. attempt_of(text)
end
-- Spreads `sum` over the places that a stock of `number` segments has here.
local function level_to(number, sum)
  load()
  local before_number, before, moved = segments, last, {}
  set_segments(number)
  if last < before then
    for _, id in ipairs(ask('HKEYS', open)) do
      local owner, taken, parts = reservation(id)
      moved[#moved + 1] = {open, id, owner .. ' ' .. decimal(taken) .. ' ' .. move(parts)}
    end
    for _, attempt in ipairs(ask('HKEYS', held)) do
      local ending, parts, id = string.match(ask('HGET', held, attempt), '^(%d+) (%S+) (.*)$')
      moved[#moved + 1] = {held, attempt, ending .. ' ' .. move(parts) .. ' ' .. id}
    end
  end
  -- Who may not write or delete is refused before anything has changed.
  call('HDEL', meta, '')
  forget(before + STEP)
  call('HSET', meta, 'segments', before_number)
  for _, hash in ipairs(moved) do call('HSET', hash[1], hash[2], hash[3]) end
  for i = 0, places - 1 do
    local segment = FIRST + i * STEP
    put(segment, math.floor(sum / places) + (i < sum % places and 1 or 0))
    call('HSET', reserved, segment, aside[segment] or 0)
  end
  for segment = last + STEP, before, STEP do
    forget(segment)
    call('HDEL', reserved, segment)
  end
  call('HSET', meta, 'segments', number)
  free = nil
end
