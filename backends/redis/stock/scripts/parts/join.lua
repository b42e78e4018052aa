-- SPDX-License-Identifier: Apache-2.0
-- The text of parts; without any "-".
local function join(parts)
  local words = {}
  for i, part in ipairs(parts) do words[i] = decimal(part[1]) .. ':' .. decimal(part[2]) end
  return #words > 0 and table.concat(words, ',') or '-'
end
