-- SPDX-License-Identifier: Apache-2.0
-- A lock is a string of Tair with a version. A server that does not know its commands has changed nothing.
--- include parts/prologue.lua
local got = try('EXGET', key)
local other = type(got) == 'table' and got.err ~= nil
if other and string.find(got.err, 'nknown') then return got end
local held, version = false, 0
if type(got) == 'table' and not other then held, version = got[1], got[2] end
local function grant() call('EXSET', key, owner, 'NX', 'PX', px, 'ABS', start) end
local function extend() call('EXCAS', key, owner, version, 'PX', px) end
local function drop() call('EXCAD', key, version) end
local function prove() extend() end
--- include parts/holder.lua
