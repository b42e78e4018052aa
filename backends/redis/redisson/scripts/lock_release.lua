-- SPDX-License-Identifier: Apache-2.0
-- Takes an entry out of a hold of the kind lock, spin or fenced; with the last one, or all of them, gives it back.
-- ARGV: ... entry ("": all)
-- {released, entries left} {gone, free|other}
--- include parts/prologue.lua
--- include parts/tell.lua
--- include parts/leave_hold.lua
if kind ~= 'hash' or call('HEXISTS', key, me) == 0 then return {'gone', kind == 'none' and 'free' or 'other'} end
local left = leave_hold(ARGV[5])
if not left then return {'gone', 'other'} end
if left == 0 then tell(channel, '0') end
return {'released', left}
