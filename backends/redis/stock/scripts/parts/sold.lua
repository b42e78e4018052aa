-- SPDX-License-Identifier: Apache-2.0
local refused = type(redis.pcall('HINCRBY', meta, 'taken', number)) == 'table'
if not refused then
  local text = made .. ' T ' .. number .. ' ' .. segment .. ':' .. number .. ' - 0'
  if not redis.pcall('SET', request, text, 'PX', KEEP).err then return 1 end
  call('HINCRBY', meta, 'taken', '-' .. number)
end
-- Without the right to that: taken back, and take.lua says why.
