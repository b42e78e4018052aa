-- SPDX-License-Identifier: Apache-2.0
-- As lock_release, of the kind fair. Who waits leaves the queue; those behind it may take the less time.
-- ARGV: ... entry, ms that a waiter may be silent
--- include parts/prologue.lua
--- include parts/tell_first.lua
--- include parts/leave_hold.lua
local wait = tonumber(ARGV[6])
local function leave_queue()
  local fields, at = call('LRANGE', queue, 0, -1)
  for i, field in ipairs(fields) do
    if field == me then at = i end
  end
  if not at then return end
  call('LREM', queue, 0, me)
  call('ZREM', timeouts, me)
  call('HDEL', waiting, me)
  for i = at + 1, #fields do
    if call('ZSCORE', timeouts, fields[i]) then call('ZINCRBY', timeouts, -wait, fields[i]) end
  end
  if at == 1 and kind == 'none' then tell_first() end
end

leave_queue()
if kind ~= 'hash' or call('HEXISTS', key, me) == 0 then return {'gone', kind == 'none' and 'free' or 'other'} end
local left = leave_hold(ARGV[5])
if not left then return {'gone', 'other'} end
if left == 0 then tell_first() end
return {'released', left}
