-- SPDX-License-Identifier: Apache-2.0
--- include parts/place.lua
--- include parts/load.lua
-- The parts out of the fullest segments first, which makes the fewest parts.
local function gather(number, start)
  local order = {}
  for i = 0, segments - 1 do order[i + 1] = {place(start + i), i} end
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
-- All in one segment if one has as many, the first from `start` on; nothing if all together have too little. After
-- load().
local function choose(number, start)
  if sum_free < number then return end
  for i = 0, segments - 1 do
    local segment = place(start + i)
    if free[segment] >= number then return {{segment, number}} end
  end
  return gather(number, start)
end
