-- SPDX-License-Identifier: Apache-2.0
-- Most takes, with the fewest words and calls: for good, out of this segment.
--- include parts/ordinary.lua
local here = call('HGET', quantity, segment)
--- include parts/enough.lua
call('HINCRBY', quantity, segment, '-' .. number)
--- include parts/sold.lua
call('HINCRBY', quantity, segment, number)
