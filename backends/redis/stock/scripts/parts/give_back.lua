-- SPDX-License-Identifier: Apache-2.0
--- include parts/mine.lua
--- include parts/gain.lua
--- include parts/set_aside.lua
-- Ends a reservation.
local function give_back(id, parts)
  call('ZREM', ends, id)
  call('HDEL', open, id)
  for _, part in ipairs(mine(parts)) do
    gain(part[1], part[2])
    set_aside(part[1], -part[2])
  end
end
