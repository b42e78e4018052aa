-- SPDX-License-Identifier: Apache-2.0
-- INFO of a record with how the command has ended, in the place of who asks for the lock back.
local who_part = '^' .. string.rep('[^\31]*\31', 5)
local function with_ran(info, ran)
  local _, separators = string.gsub(info, '\31', '')
  return string.match(info .. string.rep('\31', math.max(5 - separators, 0)), who_part) .. ran
end
