-- SPDX-License-Identifier: Apache-2.0
--- include parts/load.lua
--- include parts/reservation.lua
--- include parts/give_back.lua
-- Gives back what has expired.
local function sweep()
  local over = ask('ZRANGEBYSCORE', ends, '-inf', ms, 'LIMIT', 0, 1000)
  if #over == 0 then return end
  load()
  local parts_of = {}
  for i, id in ipairs(over) do
    local _, _, parts = reservation(id)
    parts_of[i] = parts or ''
  end
  for i, id in ipairs(over) do give_back(id, parts_of[i]) end
  free = nil
end
