-- SPDX-License-Identifier: Apache-2.0
-- Adds to the record of the holder who asks it to end, which it reads when it renews. What was asked first stays.
-- number: the holder's channel, where it hears that it should; info: who asks
--- after key_*.lua
if held ~= owner or not entries then return answer(held and -1 or 0) end
local _, parts = string.gsub(who, '\31', '')
if parts < 5 then
  who = who .. string.rep('\31', 5 - parts) .. info
  write()
end
try('PUBLISH', number, 'asked')
return answer(1)
