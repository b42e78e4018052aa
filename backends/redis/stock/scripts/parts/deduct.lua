-- SPDX-License-Identifier: Apache-2.0
--- include parts/load.lua
--- include parts/total.lua
--- include parts/set_aside.lua
--- include parts/record.lua
--- include parts/draw_token.lua
--- include parts/counted.lua
--- include parts/check_taken.lua
-- Takes the parts for good, or sets them aside for an owner; `text` is theirs.
local function deduct(id, number, parts, text, owner, ttl, keep)
  check_taken(total(parts))
  if owner == '' then
    local steps = {{book, 'taken', total(parts)}}
    for _, part in ipairs(parts) do steps[#steps + 1] = {change, part[1], -part[2]} end
    return counted(steps, function()
      record('T', number, text, '-', 0, keep)
      return {'taken', text}
    end)
  end
  load()
  local steps = {}
  for _, part in ipairs(parts) do
    steps[#steps + 1] = {change, part[1], -part[2]}
    steps[#steps + 1] = {set_aside, part[1], part[2]}
  end
  return counted(steps, function()
    -- Neither a token nor an end means anything by itself; whoever may draw one may write a reservation.
    local token = draw_token()
    call('ZADD', ends, ms + ttl, id)
    call('HSET', open, id, owner .. ' ' .. decimal(number) .. ' ' .. text)
    return {'reserved', text, token}
  end)
end
