-- SPDX-License-Identifier: Apache-2.0
-- As Redisson's forceUnlock, of the kind rw: keys of reads are left to end by themselves.
--- include parts/prologue.lua
--- include parts/rw_state.lua
--- include parts/shown.lua
if kind ~= 'none' and kind ~= 'hash' then return {'foreign', kind} end
if kind == 'hash' and state ~= 'read' and state ~= 'write' then return {'foreign', state and 'mode' or 'lock'} end
local fields, content = {}, call('HGETALL', key)
for i = 1, #content, 2 do
  local field = content[i]
  if is_reader(field) then
    fields[field] = fields[field] or rest_of(field, content[i + 1]) > 0
  elseif field ~= 'mode' then
    fields[string.sub(field, 1, -7)] = true
  end
end
if not is_shown(fields) then return {'conflict'} end
call('DEL', key, holders)
if state then tell(channel, state == 'write' and '1' or '0') end
return {'freed'}
