-- SPDX-License-Identifier: Apache-2.0
--- include parts/load.lua
--- include parts/total.lua
--- include parts/set_aside.lua
--- include parts/record.lua
--- include parts/draw_token.lua
-- Takes the parts for good, or sets them aside for an owner; `text` says those of other slots, too.
local function deduct(id, number, parts, text, owner, ttl, keep)
  if owner == '' then
    if not whole(taken_so_far) then broken('it does not know what was taken') end
    for _, part in ipairs(parts) do change(part[1], -part[2]) end
    call('HINCRBY', meta, 'taken', total(parts))
    record('T', number, text, '-', 0, keep)
    return {'taken', text}
  end
  load()
  for _, part in ipairs(parts) do
    change(part[1], -part[2])
    set_aside(part[1], part[2])
  end
  call('HSET', open, id, owner .. ' ' .. decimal(number) .. ' ' .. text)
  call('ZADD', ends, ms + ttl, id)
  return {'reserved', text, draw_token()}
end
