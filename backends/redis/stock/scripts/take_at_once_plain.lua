-- SPDX-License-Identifier: Apache-2.0
-- The same with a counter of its own for each quantity.
--- include parts/ordinary.lua
local at = quantity .. ':' .. segment
local here = call('GET', at)
--- include parts/enough.lua
call('INCRBY', at, '-' .. number)
--- include parts/sold.lua
call('INCRBY', at, number)
