-- SPDX-License-Identifier: Apache-2.0
--- include parts/readers.lua
-- A read-write lock: a hash with its mode, FIELD -> reads of a reader, FIELD:write -> writes of the writer.
local state = kind == 'hash' and call('HGET', key, 'mode')
local writer = me .. ':write'

-- How long the longest of all reads has to go; -2: none is left.
local function rest_of_readers()
  local rest, fields = -2, call('HGETALL', key)
  for i = 1, #fields, 2 do
    if is_reader(fields[i]) then rest = math.max(rest, rest_of(fields[i], fields[i + 1])) end
  end
  return rest
end
