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
local our_entry = entry .. (reads and 'r' or 'w')

-- The hash lives as long as the longest of its holds.
local function extend(field)
  if reads then
    local count = reads_in(call('HGET', key, field))
    call('SET', timeout_of(field, count), '1', 'PX', px)
  end
  local keep = math.max(px, call('PTTL', key))
  call('PEXPIRE', key, keep)
  call('PEXPIRE', holders, keep)
end

local function hold_of(field) return reads and field or field .. ':write' end

-- We have it: an answer was lost. The lease begins again.
local function repeat_grant()
  for joined, field in pairs({[0] = me, [1] = ancestor}) do
    local _, _, _, entries = record_of(field)
    if has(entries, our_entry) and call('HEXISTS', key, hold_of(field)) == 1 then
      extend(field)
      return {'granted', '0', field, joined}
    end
  end
end

local function grant(field, entries, since, its_info)
  call('HINCRBY', key, hold_of(field), 1)
  write_record(field, '0', since, entries, its_info)
  extend(field)
end

-- We are inside of a hold: a writer may do both, a reader may not write.
local function join()
  if ancestor == '' then return end
  local as_reader, as_writer = call('HGET', key, ancestor), call('HGET', key, ancestor .. ':write')
  if not as_reader and not as_writer then return end
  if not reads and not as_writer then return {'self'} end
  local count = reads and as_reader or as_writer
  if not is_number(reads and (as_reader or '0') or as_writer) then return bad('the count of ' .. ancestor, count) end
  local _, since, _, entries, its_info = record_of(ancestor)
  grant(ancestor, (entries and entries .. ',' or '') .. our_entry, since or ms, its_info or info)
  return {'granted', '0', ancestor, 1}
end

if state then
  local answer = repeat_grant() or join()
  if answer then return answer end
  local rest = call('PTTL', key)
  if state == 'write' or not reads or rest < 0 then return {'busy', rest, 0, 0} end
else
  prove()
  call('HGETALL', key)
  if reads then call('SET', timeout_of(me, 1), '1', 'PX', px) end
  call('HSET', key, 'mode', reads and 'read' or 'write')
end
grant(me, our_entry, ms, info)
return {'granted', '0', me, 0}
