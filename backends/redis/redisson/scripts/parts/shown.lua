-- SPDX-License-Identifier: Apache-2.0
-- ARGV: ... the holders that were shown
-- {freed} {conflict} {foreign, type}
local shown = {}
for i = 5, #ARGV do shown[ARGV[i]] = true end

-- FIELDs, each with whether it is alive: are they what was shown? Whoever is not alive may have been left out.
local function is_shown(fields)
  for field, alive in pairs(fields) do
    if alive and not shown[field] then return false end
  end
  for field in pairs(shown) do
    if fields[field] == nil then return false end
  end
  return true
end
