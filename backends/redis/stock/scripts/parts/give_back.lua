-- SPDX-License-Identifier: Apache-2.0
--- include parts/lists.lua
--- include parts/counted.lua
-- Ends a reservation.
local function give_back(id, parts)
  -- Changes that a full server allows go first.
  call('HDEL', open, '')
  local steps = {}
  for _, part in ipairs(split(parts)) do
    steps[#steps + 1] = {change, part[1], part[2]}
    steps[#steps + 1] = {set_aside, part[1], -part[2]}
  end
  counted(steps, function()
    call('ZREM', ends, id)
    call('HDEL', open, id)
  end)
end
