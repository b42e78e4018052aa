-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, owner
-- {ok, parts} {sold}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/recorded.lua
--- include parts/load.lua
--- include parts/reservation.lua
--- include parts/give_back.lua
local id, owner = unpack(ARGV)
return run(function()
  local holder, _, parts = reservation(id)
  if holder ~= owner then
    local old = recorded()
    if old and old.state == 'T' then return {'sold'} end
    return {'ok', '-'}
  end
  load()
  give_back(id, parts)
  return {'ok', parts}
end)
