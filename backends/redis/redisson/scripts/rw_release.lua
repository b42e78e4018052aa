-- SPDX-License-Identifier: Apache-2.0
-- Takes an entry, a read or a write, out of a hold of the kind rw; with the last one, or all of them, gives it back.
-- Redisson does not announce that a writer goes on as a reader; here the waiting readers are notified.
-- ARGV: ... entry ("": all)
-- {released, entries left} {gone, free|other}
--- include parts/prologue.lua
--- include parts/record.lua
--- include parts/rw_state.lua
if not state or call('HEXISTS', key, me) == 0 and call('HEXISTS', key, writer) == 0 then
  return {'gone', kind == 'none' and 'free' or 'other'}
end
local entry = ARGV[5]
local token, since, _, entries, info = record_of(me)
local rest, left, found = {}, {r = 0, w = 0}, entry == '' or not entries
for other, what in string.gmatch(not found and entries or '', '(%w+)([rw])') do
  if other == entry then
    found = what
  else
    left[what] = left[what] + 1
    rest[#rest + 1] = other .. what
  end
end
if not found then return {'gone', 'other'} end

-- Changes that a full server allows go first.
call('HDEL', holders, #rest == 0 and me or '')
if found ~= 'w' then
  local count = reads_in(call('HGET', key, me))
  for number = count, left.r + 1, -1 do call('DEL', timeout_of(me, number)) end
  if left.r == 0 then
    call('HDEL', key, me)
  else
    call('HINCRBY', key, me, left.r - count)
  end
end
if found ~= 'r' then
  if left.w == 0 then
    call('HDEL', key, writer)
  else
    call('HINCRBY', key, writer, -1)
  end
end
if #rest > 0 then write_record(me, token, since, table.concat(rest, ','), info) end

if call('HEXISTS', key, writer) == 0 then
  local longest = rest_of_readers()
  if longest <= 0 then
    call('DEL', key)
  else
    call('PEXPIRE', key, longest)
    if state == 'write' then call('HSET', key, 'mode', 'read') end
  end
  if state == 'write' then
    tell(channel, '1')
  elseif longest <= 0 then
    tell(channel, '0')
  end
end
return {'released', #rest}
