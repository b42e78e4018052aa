-- SPDX-License-Identifier: Apache-2.0
-- ARGV: ... by (who does it, and why, or ""), the holders that were shown
-- {freed} {conflict} {foreign, type}
local shown, by = {}, ARGV[5]
for i = 6, #ARGV do shown[ARGV[i]] = true end

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

-- After something was deleted, so that a full server allows it.
local function note_who()
  if by == '' or #ARGV < 6 then return end
  for field in pairs(shown) do call('HSET', forced, field, by) end
  call('PEXPIRE', forced, 3600000)
end
