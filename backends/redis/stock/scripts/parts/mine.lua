-- SPDX-License-Identifier: Apache-2.0
--- include parts/split.lua
-- Of these parts those in this slot.
local function mine(text)
  local parts = {}
  for _, part in ipairs(split(text)) do
    if part[1] % STEP == FIRST then parts[#parts + 1] = part end
  end
  return parts
end
