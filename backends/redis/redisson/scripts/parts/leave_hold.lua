-- SPDX-License-Identifier: Apache-2.0
-- Takes ENTRY ("": all) out of a hold that is a field of a hash. How many are left; nil if it is not in it, and nothing
-- is changed. Of a hold whose record is gone the count is what is known.
--- include parts/record.lua
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
    -- What a full server allows goes first.
    call('HDEL', holders, '')
    try('HINCRBY', key, me, -1)
    if entries then write_record(me, token, since, table.concat(rest, ','), info) end
    return left
  end
  call('HDEL', key, me)
  call('HDEL', holders, me)
  return 0
end
