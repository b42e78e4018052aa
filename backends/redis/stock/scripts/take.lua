-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, quantity, start, only this segment or "", keep ms, owner or "" (for good), ttl ms
-- {taken, parts} {reserved, parts, token} {repeated, parts} {short, available, reserved} {progress} {refunded} {restock}
-- {reused, quantity}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/place.lua
--- include parts/again.lua
--- include parts/deduct.lua
--- include parts/join.lua
local id, number, start, only, keep, owner, ttl = unpack(ARGV)
number = whole(number)

-- The parts out of the fullest segments first, which makes the fewest parts.
local function gather()
  local order = {}
  for i = 0, places - 1 do order[i + 1] = {place(start + i), i} end
  table.sort(order, function(a, b)
    if free[a[1]] == free[b[1]] then return a[2] < b[2] end
    return free[a[1]] > free[b[1]]
  end)
  local parts, rest = {}, number
  for _, turn in ipairs(order) do
    local some = math.min(rest, free[turn[1]])
    if some == 0 then break end
    parts[#parts + 1] = {turn[1], some}
    rest = rest - some
  end
  return parts
end

-- All in one segment if one has as many, the one at `start` if that has.
local function choose()
  if only ~= '' then
    load()
    local segment = tonumber(only)
    return segment < segments and free[segment] and free[segment] >= number and {{segment, number}}
  end
  local here = whole(count(place(start)))
  if here and here >= number then return {{place(start), number}} end
  load()
  for i = 0, places - 1 do
    if free[place(start + i)] >= number then return {{place(start + i), number}} end
  end
  return sum_free >= number and gather()
end

return run(function()
  if not number or number < 1 then return {'invalid'} end
  local old = again(id, number, owner, ttl, keep)
  if old then return old end
  local parts = choose()
  if not parts then
    load()
    return {'short', decimal(sum_free), decimal(sum_aside)}
  end
  return deduct(id, number, parts, join(parts), owner, ttl, keep)
end)
