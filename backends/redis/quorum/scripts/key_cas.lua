-- SPDX-License-Identifier: Apache-2.0
-- A lock is a string of Tair. grant() begins with CAS, so that a server that does not know it has changed nothing.
--- include parts/prologue.lua
local held = try('GET', key)
local other = type(held) == 'table'
local function extend() return call('CAS', key, owner, owner, 'PX', px) end
local function grant()
  if extend() ~= 1 then call('SET', key, owner, 'NX', 'PX', px) end
end
local function drop() call('CAD', key, owner) end
--- include parts/holder.lua
