-- SPDX-License-Identifier: Apache-2.0
-- {state, created, added, taken, refunded, open, quantities, reserved}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/sweep.lua
return run(function()
  sweep()
  load()
  local counters = ask('HMGET', meta, 'created', 'added', 'taken', 'refunded')
  for i = 1, 4 do
    if not whole(counters[i]) then broken('one of its counters is "' .. tostring(counters[i]) .. '"') end
  end
  local quantities, asides = {}, {}
  for i = 1, segments do quantities[i], asides[i] = decimal(free[i - 1]), decimal(aside[i - 1]) end
  local created, added, taken, refunded = unpack(counters)
  return {'state', created, added, taken, refunded, decimal(ask('HLEN', open)), quantities, asides}
end)
