-- SPDX-License-Identifier: Apache-2.0
-- Shared and permit holders stand in `ends`, and the lock has a marker instead of an owner.
local function is_marked() return value and string.find(value, '^dlock:') end
