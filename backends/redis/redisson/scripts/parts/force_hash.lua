-- SPDX-License-Identifier: Apache-2.0
-- Frees a lock that is a hash without a mode of exactly those who were shown. True: it was held, and is free.
--- include parts/shown.lua
local function force_hash()
  if kind ~= 'none' and kind ~= 'hash' then return false, {'foreign', kind} end
  local fields = {}
  for _, field in ipairs(call('HKEYS', key)) do fields[field] = true end
  if fields.mode then return false, {'foreign', 'rw'} end
  if not is_shown(fields) then return false, {'conflict'} end
  call('DEL', key, holders)
  note_who()
  return kind == 'hash', {'freed'}
end
