-- SPDX-License-Identifier: Apache-2.0
-- As the watchdog does: only while the hash has our field, and each of our reads. Of the kind rw.
-- KEYS: ... our first read, which is named so that a slot that moves has it beside the lock; where it stands half moved,
-- the lock's own key alone: the reads follow (keep_read.lua).
-- ARGV: ... lease in ms, exact (it may become shorter, but for other holders), how the command has ended
-- {renewed, token, our reads} {lost, free|other}
--- include parts/prologue.lua
--- include parts/rw_state.lua
--- include parts/record.lua
local reads = state and call('HGET', key, me)
if not state or not reads and call('HEXISTS', key, writer) == 0 then
  return {'lost', kind == 'none' and 'free' or 'other'}
end
local px, exact = tonumber(ARGV[5]), ARGV[6] == '1'
-- Who has a key changed is told of its next change only if it has read it since (CLIENT TRACKING).
local function extend(keep)
  call('PEXPIRE', key, keep)
  call('HEXISTS', key, writer)
end
if not holders then
  extend(math.max(px, call('PTTL', key)))
  return {'renewed', '0', reads_in(reads)}
end
-- Changes that a full server allows go first.
call('HDEL', holders, '')
for number = 1, reads_in(reads) do
  local read = timeout_of(me, number)
  call('SET', read, '1', 'PX', exact and px or math.max(px, call('PTTL', read)))
end
local keep = math.max(px, exact and rest_of_readers() or call('PTTL', key))
extend(keep)
call('PEXPIRE', holders, keep)
note_ran(me, ARGV[7])
return {'renewed', '0', reads_in(reads)}
