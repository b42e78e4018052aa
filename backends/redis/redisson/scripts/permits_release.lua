-- SPDX-License-Identifier: Apache-2.0
-- Takes an entry out of a hold; with the last one, or all of them, the permit comes back. One whose time was over comes
-- back too, and is not ours all the same.
-- ARGV: ... entry ("": all)
-- {released, entries left} {gone, free|other}
--- include parts/prologue.lua
--- include parts/record.lua
--- include parts/ledger.lua
local entry, was_ours = ARGV[5], has_permit(me)
local token, since, _, entries, info = record_of(me)
local rest, found = {}, entry == '' or not entries
for other in string.gmatch(not found and entries or '', '[^,]+') do
  if other == entry then found = true else rest[#rest + 1] = other end
end
if not found then return {'gone', 'other'} end
if was_ours and #rest > 0 then
  call('HDEL', holders, '')
  write_record(me, token, since, table.concat(rest, ','), info)
  return {'released', #rest}
end
give_back(drop(me))
if kind == 'none' or not was_ours then return {'gone', kind == 'none' and 'free' or 'other'} end
return {'released', 0}
