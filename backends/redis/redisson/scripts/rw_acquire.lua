-- SPDX-License-Identifier: Apache-2.0
-- Takes a read-write lock, to read (mode s) or to write. In the record an entry ends with r or w.
--- include parts/prologue.lua
--- include parts/attempt.lua
--- include parts/prove.lua
--- include parts/rw_state.lua
-- Redisson itself would grant it into the hash of another kind, and so to two.
if kind ~= 'none' and not state then return busy_foreign() end
if state and state ~= 'read' and state ~= 'write' then return bad('the mode', state) end
local reads = mode == 's'
local our_entry, held = entry .. (reads and 'r' or 'w'), reads and me or me .. ':write'

-- The hash lives as long as the longest of its holds.
local function extend()
  if reads then call('SET', timeout_of(me, reads_in(call('HGET', key, me))), '1', 'PX', px) end
  local keep = math.max(px, call('PTTL', key))
  call('PEXPIRE', key, keep)
  call('PEXPIRE', holders, keep)
end

-- We have it: an answer was lost. The lease begins again.
local function repeat_grant()
  local _, _, _, entries = record_of(me)
  if has(entries, our_entry) and call('HEXISTS', key, held) == 1 then
    extend()
    return {'granted', '0'}
  end
end

if state then
  local answer = repeat_grant()
  if answer then return answer end
  local rest = call('PTTL', key)
  if state == 'write' or not reads or rest < 0 then return {'busy', rest, 0, 0} end
else
  prove()
  call('HGETALL', key)
  if reads then call('SET', timeout_of(me, 1), '1', 'PX', px) end
  call('HSET', key, 'mode', reads and 'read' or 'write')
end
call('HINCRBY', key, held, 1)
write_record(me, '0', ms, our_entry, info)
extend()
return {'granted', '0'}
