-- SPDX-License-Identifier: Apache-2.0
-- The record's account of its request, if that was made of this stock. States: T taken, G given back, A added, X refused for ever.
local function parse_record(text)
  if not text then return end
  local stock, state, number, parts, owner, back, refunds =
    string.match(text, '^(%x+) (%a) (%d+) (%S+) (%S+) (%d+) ?([%x:,-]*)$')
  if not stock then broken('the record of the request is "' .. text .. '"') end
  if stock == made then
    return {state = state, number = tonumber(number), parts = parts, owner = owner, back = tonumber(back), refunds = refunds}
  end
end
local function recorded() return parse_record(ask('GET', request)) end
