-- SPDX-License-Identifier: Apache-2.0
-- Only while the permit is ours: one whose time is over comes back with the next who asks.
-- ARGV: ... lease in ms, exact (it may become shorter), how the command has ended, own
-- {renewed, token} {lost, free|other}
--- include parts/prologue.lua
--- include parts/ledger.lua
--- include parts/record.lua
local ending = kind == 'string' and has_permit(me)
if not ending then return {'lost', kind == 'none' and 'free' or 'other'} end
local px = tonumber(ARGV[5])
-- Changes that a full server allows go first.
call('HDEL', holders, '')
call('ZADD', ledger, ARGV[6] == '1' and ms + px or math.max(ms + px, ending), me)
keep_ledger(px)
note_ran(me, ARGV[7])
return {'renewed', '0'}
