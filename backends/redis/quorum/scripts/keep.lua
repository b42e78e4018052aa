-- SPDX-License-Identifier: Apache-2.0
-- Makes a lease px long; one of 0 ends it. number: the token; flag: info is new
--- after key_*.lua
if not held then return answer(0) end
if held ~= owner then return answer(-1) end
if px <= 0 then
  drop()
  call('DEL', holders)
else
  if flag == '1' and entries then who = info end
  local alone = entry == '' or not entries or entries == entry
  if alone or call('PTTL', key) < px then extend() end
  enter(number)
end
raise(tonumber(number))
return answer(1)
