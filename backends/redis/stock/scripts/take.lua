-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, quantity, start, only this segment or "", keep ms, owner or "" (for good), ttl ms
-- {taken, parts} {reserved, parts, token} {repeated, parts} {short, available, reserved} {progress} {refunded} {restock}
-- {reused, quantity}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/choose.lua
--- include parts/again.lua
--- include parts/deduct.lua
--- include parts/join.lua
local id, number, start, only, keep, owner, ttl = unpack(ARGV)
number = whole(number)

-- Without a look at all segments if the one at `start` has enough.
local function pick()
  if only ~= '' then
    load()
    local segment = tonumber(only)
    return segment < segments and free[segment] and free[segment] >= number and {{segment, number}}
  end
  local here = whole(count(place(start)))
  if here and here >= number then return {{place(start), number}} end
  load()
  return choose(number, start)
end

return run(function()
  if not number or number < 1 then return {'invalid'} end
  local old = again(id, number, owner, ttl, keep)
  if old then return old end
  local parts = pick()
  if not parts then
    load()
    return {'short', decimal(sum_free), decimal(sum_aside)}
  end
  return deduct(id, number, parts, join(parts), owner, ttl, keep)
end)
