-- SPDX-License-Identifier: Apache-2.0
-- The text of parts, or of refunds; without any "-".
local function join(parts)
  local words = {}
  for i, part in ipairs(parts) do
    local of = part[1]
    words[i] = (type(of) == 'number' and decimal(of) or of) .. ':' .. decimal(part[2])
  end
  return #words > 0 and table.concat(words, ',') or '-'
end
