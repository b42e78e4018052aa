-- SPDX-License-Identifier: Apache-2.0
-- Adds to a holder's record who asks it to end. What was asked first stays.
local function ask_back(owner, record, by)
  local _, parts = string.gsub(record, '\31', '')
  if parts < 5 then call('HSET', holders, owner, record .. string.rep('\31', 5 - parts) .. by) end
end
