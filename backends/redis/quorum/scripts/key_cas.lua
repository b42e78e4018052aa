-- SPDX-License-Identifier: Apache-2.0
-- A lock is a string of Tair. A server that does not know its commands has changed nothing.
--- include parts/prologue.lua
local held = try('GET', key)
local other = type(held) == 'table' or held and #held > 65536
local function extend() return call('CAS', key, owner, owner, 'PX', px) end
local function grant() call('SET', key, owner, 'NX', 'PX', px) end
local function drop() call('CAD', key, owner) end
local function prove() extend() end
--- include parts/holder.lua
