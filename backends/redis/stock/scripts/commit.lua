-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, quantity, keep ms, owner or "", ttl ms, attempt, parts, made
-- As take.lua; {short, ...} also when the attempt was refused, or the stock is another one.
--- after counters_*.lua
--- include parts/run.lua
--- include parts/again.lua
--- include parts/deduct.lua
local id, number, keep, owner, ttl, attempt, parts, wanted = unpack(ARGV)
number = whole(number)
return run(function()
  if not number or number < 1 then return {'invalid'} end
  local old = again(id, number, owner, ttl, keep)
  if old then return old end
  load()
  local here = mine(parts)
  local fits = wanted == made and not ask('ZSCORE', refused, attempt)
  for _, part in ipairs(here) do fits = fits and free[part[1]] and free[part[1]] >= part[2] end
  if not fits then return {'short', decimal(sum_free), decimal(sum_aside)} end
  return deduct(id, number, here, parts .. '@' .. attempt, owner, ttl, keep)
end)
