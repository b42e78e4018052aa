-- SPDX-License-Identifier: Apache-2.0
--- include ../../deployment/scripts/parts/ran.lua
-- token, since, delay, entries, info
local function record_of(field)
  local record = call('HGET', holders, field)
  if record then return string.match(record, '^(%S+) (%S+) (%S+) (%S+) (.*)$') end
end
local function write_record(field, token, since, entries, info)
  call('HSET', holders, field, token .. ' ' .. since .. ' 0 ' .. entries .. ' ' .. info)
end
local function note_ran(field, ran)
  local token, since, _, entries, info = record_of(field)
  if token and ran ~= '' then write_record(field, token, since, entries, with_ran(info, ran)) end
end
