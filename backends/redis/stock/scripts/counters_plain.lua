-- SPDX-License-Identifier: Apache-2.0
-- Each quantity is a counter of its own.
--- include parts/prologue.lua
local function at(segment) return quantity .. ':' .. decimal(segment) end
local function counts(segments)
  local keys = {}
  for i, segment in ipairs(segments) do keys[i] = quantity .. ':' .. segment end
  return ask('MGET', unpack(keys))
end
local function count(segment) return ask('GET', at(segment)) end
local function change(segment, by) call('INCRBY', at(segment), by) end
local function put(...)
  local all = {...}
  for i = 1, #all, 2 do call('SET', at(all[i]), all[i + 1]) end
end
local function forget(segment) call('DEL', at(segment)) end
