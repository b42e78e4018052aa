-- SPDX-License-Identifier: Apache-2.0
local function set_aside(segment, by) call('HINCRBY', reserved, segment, by) end
