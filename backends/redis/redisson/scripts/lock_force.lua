-- SPDX-License-Identifier: Apache-2.0
-- As Redisson's forceUnlock, of the kinds lock, fenced and fair.
--- include parts/prologue.lua
--- include parts/queue.lua
--- include parts/shown.lua
if kind ~= 'none' and kind ~= 'hash' then return {'foreign', kind} end
local fields = {}
for _, field in ipairs(call('HKEYS', key)) do fields[field] = true end
if fields.mode then return {'foreign', 'rw'} end
if not is_shown(fields) then return {'conflict'} end
call('DEL', key, holders)
if kind == 'hash' then tell_first() end
return {'freed'}
