-- SPDX-License-Identifier: Apache-2.0
local function total(parts)
  local sum = 0
  for _, part in ipairs(parts) do sum = sum + part[2] end
  return sum
end
