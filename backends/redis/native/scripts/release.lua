-- SPDX-License-Identifier: Apache-2.0
-- Takes one entry out of a hold; with the last one, or all of them, releases the lock. A waiter leaves the queue.
-- ARGV: wake, owner, entry ("": all)
-- {released, entries left} {gone, value}
--- include parts/prologue.lua
--- include parts/wake.lua
local _, owner, entry = unpack(ARGV)
local waited = entry ~= '' and leave_queue(entry)

local ending = kind == 'string' and is_marked() and call('ZSCORE', ends, owner)
if kind ~= 'string' or value ~= owner and not (ending and tonumber(ending) > ms) then
  -- Readers and permits may have waited for their turn after it while there is room.
  if waited and (not value or is_marked()) then wake(not value) end
  return {'gone', value or ''}
end

local record = call('HGET', holders, owner)
if entry ~= '' and record then
  local token, since, delay, entries, info = string.match(record, '^(%S+) (%S+) (%S+) (%S+) (.*)$')
  local rest, is_in = {}, false
  for other in string.gmatch(entries, '[^,]+') do
    if other == entry then is_in = true else rest[#rest + 1] = other end
  end
  if not is_in then return {'gone', value} end
  if #rest > 0 then
    call('HDEL', holders, '')
    call('HSET', holders, owner, token .. ' ' .. since .. ' ' .. delay .. ' ' .. table.concat(rest, ',') .. ' ' .. info)
    return {'released', #rest}
  end
end

if value ~= owner then
  call('ZREM', ends, owner)
  call('HDEL', holders, owner)
end
local is_free = value == owner or call('ZCARD', ends) == 0
if is_free then call('DEL', lock, holders, ends) end
wake(is_free)
return {'released', 0}
