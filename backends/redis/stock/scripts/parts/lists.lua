-- SPDX-License-Identifier: Apache-2.0
-- Of "SEGMENT:QUANTITY,...": a list of {segment, quantity}.
local function split(text)
  local parts = {}
  for segment, number in string.gmatch(text, '(%d+):(%d+)') do parts[#parts + 1] = {tonumber(segment), tonumber(number)} end
  return parts
end
-- The text of parts, or of refunds; without any "-".
local function join(parts)
  local words = {}
  for i, part in ipairs(parts) do
    local of = part[1]
    words[i] = (type(of) == 'number' and decimal(of) or of) .. ':' .. decimal(part[2])
  end
  return #words > 0 and table.concat(words, ',') or '-'
end
local function total(parts)
  local sum = 0
  for _, part in ipairs(parts) do sum = sum + part[2] end
  return sum
end
