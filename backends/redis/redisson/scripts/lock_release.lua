-- SPDX-License-Identifier: Apache-2.0
-- Takes an entry out of a hold of the kind lock, fenced or fair; with the last one, or all of them, gives it back.
-- A waiter leaves the queue of a fair lock; those after it may take the less time.
-- ARGV: ... entry ("": all), of the kind fair: ms that a waiter may be silent
-- {released, entries left} {gone, free|other}
--- include parts/prologue.lua
--- include parts/queue.lua
--- include parts/record.lua
local wait = tonumber(ARGV[6])
-- Takes ENTRY ("": all) out of a hold that is a field of a hash. How many are left; nil if it is not in it, and nothing
-- is changed. Of a hold whose record is gone the count is what is known.
local function leave_hold(entry)
  local token, since, _, entries, info = record_of(me)
  local rest, found = {}, entry == ''
  for other in string.gmatch(entry ~= '' and entries or '', '[^,]+') do
    if other == entry then found = true else rest[#rest + 1] = other end
  end
  if entries and not found then return end
  local left = #rest
  if not entries and entry ~= '' then left = math.max((tonumber(call('HGET', key, me)) or 1) - 1, 0) end
  if left > 0 then
    -- Changes that a full server allows go first.
    call('HDEL', holders, '')
    try('HINCRBY', key, me, -1)
    if entries then write_record(me, token, since, table.concat(rest, ','), info) end
    return left
  end
  call('HDEL', key, me)
  call('HDEL', holders, me)
  return 0
end

local function leave_queue()
  local fields, at = call('LRANGE', queue, 0, -1)
  for i, field in ipairs(fields) do
    if field == me then at = i end
  end
  if not at then return end
  call('LREM', queue, 0, me)
  call('ZREM', timeouts, me)
  call('HDEL', waiting, me)
  for i = at + 1, #fields do
    if call('ZSCORE', timeouts, fields[i]) then call('ZINCRBY', timeouts, -wait, fields[i]) end
  end
  if at == 1 and kind == 'none' then tell_first() end
end

if queue then leave_queue() end
if kind ~= 'hash' or call('HEXISTS', key, me) == 0 then return {'gone', kind == 'none' and 'free' or 'other'} end
local left = leave_hold(ARGV[5])
if not left then return {'gone', 'other'} end
if left == 0 then tell_first() end
return {'released', left}
