-- SPDX-License-Identifier: Apache-2.0
-- The first four parts of read_state.lua, which are of the lock's own key. Changes nothing.
--- include parts/prologue.lua
--- include parts/family.lua
return {string.format('%.0f', us), kind, value or '', call('PTTL', lock)}
