-- SPDX-License-Identifier: Apache-2.0
-- Of a request: owner, quantity, parts.
local function reservation(id)
  local text = ask('HGET', open, id)
  if not text then return end
  local owner, number, parts = string.match(text, '^(%x+) (%d+) (%S+)$')
  if not owner then broken('the reservation of ' .. id .. ' is "' .. text .. '"') end
  return owner, tonumber(number), parts
end
