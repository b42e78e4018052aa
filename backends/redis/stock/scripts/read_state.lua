-- SPDX-License-Identifier: Apache-2.0
-- {state, created, added, taken, refunded, open, quantities, reserved, made, born, dropping, making, segments, epoch,
-- levelling, gains, {attempt, id ...} overdue, {id, credit ...}}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/place.lua
--- include parts/sweep.lua
return run(function()
  sweep()
  load()
  local created, added, taken, refunded, born, dropping, making, epoch, levelling, gains = unpack(
    ask('HMGET', meta, 'created', 'added', 'taken', 'refunded', 'born', 'dropping', 'making', 'epoch', 'levelling', 'gains'))
  for _, counter in ipairs({created, added, taken, refunded}) do
    if not whole(counter) then broken('one of its counters is "' .. tostring(counter) .. '"') end
  end
  local quantities, asides = {}, {}
  for i = 1, places do quantities[i], asides[i] = decimal(free[place(i - 1)]), decimal(aside[place(i - 1)]) end
  local overdue, pending = {}, {}
  if STEP > 1 then
    local all = ask('HGETALL', held)
    for i = 1, #all, 2 do
      local ending, _, id = string.match(all[i + 1], '^(%d+) (%S+) (.*)$')
      if tonumber(ending) <= ms then
        overdue[#overdue + 1] = all[i]
        overdue[#overdue + 1] = id
      end
    end
    pending = ask('HGETALL', credits)
  end
  return {
    'state', created, added, taken, refunded, decimal(ask('HLEN', open)), quantities, asides, made, born or '',
    dropping or '', making or '', decimal(segments), epoch or '0', levelling or '', gains or '0', overdue, pending,
  }
end)
