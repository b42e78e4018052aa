-- SPDX-License-Identifier: Apache-2.0
-- Takes an entry out ('': all); with the last one gives the lock back. number: the token; flag: leaves a mark with info, so
-- that the owner takes no vote back here
--- after key_*.lua
local state = held and -1 or 0
if flag == '1' then
  try('HSET', forced, owner, info)
  try('PEXPIRE', forced, 3600000)
end
if held == owner then
  local rest, mine = {}, entry == '' or not entries
  for one in string.gmatch(entries or '', '[^,]+') do
    if one == entry then mine = true else rest[#rest + 1] = one end
  end
  if mine and (entry == '' or #rest == 0) then
    drop()
    call('DEL', holders)
  elseif mine then
    call('HDEL', holders, '')
    entries = table.concat(rest, ',')
    write()
  end
  if mine then state = 1 end
end
raise(tonumber(number))
return answer(state)
