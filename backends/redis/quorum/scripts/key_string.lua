-- SPDX-License-Identifier: Apache-2.0
-- A lock is a string of Redis.
--- include parts/prologue.lua
local held = try('GET', key)
local other = type(held) == 'table' or held and #held > 65536
local function grant() call('SET', key, owner, 'PX', px) end
local function extend() call('PEXPIRE', key, px) end
local function prove() end
local function drop() call('DEL', key) end
--- include parts/holder.lua
