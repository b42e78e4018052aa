-- SPDX-License-Identifier: Apache-2.0
-- Takes their permits from exactly those who were shown.
--- include parts/prologue.lua
--- include parts/shown.lua
--- include parts/ledger.lua
if kind ~= 'none' and not is_number(value) then return {'foreign', kind} end
local fields = {}
for _, field in ipairs(call('ZRANGE', ledger, 0, -1)) do fields[field] = has_permit(field) and true or false end
if not is_shown(fields) then return {'conflict'} end
local number = 0
for field in pairs(shown) do number = number + drop(field) end
give_back(number)
if number > 0 then note_who() end
return {'freed'}
