-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, quantity, keep ms. The emptiest segments are filled to one level.
-- {added, parts} {take} {reused, before} {full}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/recorded.lua
--- include parts/sweep.lua
--- include parts/record.lua
--- include parts/counted.lua
--- include parts/lists.lua
local id, number, keep = unpack(ARGV)
number = whole(number)

local function fill_emptiest()
  local order = {}
  for i = 1, segments do order[i] = i - 1 end
  table.sort(order, function(a, b)
    if free[a] == free[b] then return a < b end
    return free[a] < free[b]
  end)
  -- The first `low` get one level, for which they lack `missing`.
  local low, missing = 1, 0
  while low < segments do
    local lift = low * (free[order[low + 1]] - free[order[low]])
    if missing + lift > number then break end
    missing = missing + lift
    low = low + 1
  end
  local parts, level, rest = {}, free[order[low]], number - missing
  for i = 1, low do
    local more = level - free[order[i]] + math.floor(rest / low)
    if i <= rest % low then more = more + 1 end
    if more > 0 then parts[#parts + 1] = {order[i], more} end
  end
  table.sort(parts, function(a, b) return a[1] < b[1] end)
  return parts
end

return run(function()
  if not number or number < 1 then return {'invalid'} end
  local old = recorded()
  if old then
    if old.state ~= 'A' then return {'take'} end
    if old.number ~= number then return {'reused', decimal(old.number)} end
    call('PEXPIRE', request, keep)
    return {'added', old.parts}
  end
  sweep()
  if reservation(id) then return {'take'} end
  load()
  -- Taken items may come back: so all that was ever put in has to be a number that stays exact.
  local put_in = ask('HMGET', meta, 'created', 'added')
  local room = 9007199254740992 - (whole(put_in[1]) or 0) - (whole(put_in[2]) or 0)
  if number > room then return {'full'} end
  local parts, steps = fill_emptiest(), {{book, 'added', number}}
  for _, part in ipairs(parts) do steps[#steps + 1] = {change, part[1], part[2]} end
  return counted(steps, function()
    record('A', number, join(parts), '-', 0, keep)
    return {'added', join(parts)}
  end)
end)
