-- SPDX-License-Identifier: Apache-2.0
-- Each quantity is a TairString, which refuses to go below 0.
--- include parts/prologue.lua
local function at(segment) return quantity .. ':' .. decimal(segment) end
local function count(segment)
  local value = ask('EXGET', at(segment))
  return value and value[1]
end
local function counts(segments)
  local values = {}
  for i, segment in ipairs(segments) do values[i] = count(segment) end
  return values
end
local function change(segment, by) call('EXINCRBY', at(segment), by, 'MIN', 0) end
local function put(...)
  local all = {...}
  for i = 1, #all, 2 do call('EXSET', at(all[i]), all[i + 1]) end
end
local function forget(segment) call('DEL', at(segment)) end
