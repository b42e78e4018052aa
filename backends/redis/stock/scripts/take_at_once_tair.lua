-- SPDX-License-Identifier: Apache-2.0
-- The same with TairStrings.
--- include parts/ordinary.lua
local at = quantity .. ':' .. segment
local value = call('EXGET', at)
local here = value and value[1]
--- include parts/enough.lua
call('EXINCRBY', at, '-' .. number, 'MIN', '0')
--- include parts/sold.lua
call('EXINCRBY', at, number)
