-- SPDX-License-Identifier: Apache-2.0
-- As the watchdog does: only while the hash has our field. Of the kinds lock, fenced and fair.
-- KEYS: where a slot stands half moved, the lock's own key alone.
-- ARGV: ... lease in ms, exact (it may become shorter), how the command has ended
-- {renewed, token, 0} {lost, free|other}
--- include parts/prologue.lua
--- include parts/record.lua
if kind ~= 'hash' or call('HEXISTS', key, me) == 0 then return {'lost', kind == 'none' and 'free' or 'other'} end
local keep = tonumber(ARGV[5])
if ARGV[6] ~= '1' then keep = math.max(keep, call('PTTL', key)) end
call('PEXPIRE', key, keep)
-- Who has a key changed is told of its next change only if it has read it since (CLIENT TRACKING).
call('HEXISTS', key, me)
if not holders then return {'renewed', '0', 0} end
call('PEXPIRE', holders, keep)
note_ran(me, ARGV[7])
return {'renewed', record_of(me) or '0', 0}
