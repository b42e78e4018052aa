-- SPDX-License-Identifier: Apache-2.0
-- Begins the lease of a holder again; never makes it shorter, unless it has to be `exact`.
-- KEYS: only those that are there, so that a cluster takes it while the slot moves: no ends of who holds it alone.
-- ARGV: wake, owner, px, exact
-- {renewed, us, token} {lost, value}
--- include parts/prologue.lua
--- include parts/marker.lua
local _, owner, px, exact = unpack(ARGV)
exact = exact == '1'
if kind ~= 'string' then return {'lost', value} end
local ending = ends and is_marked() and call('ZSCORE', ends, owner)
if value ~= owner and not (ending and tonumber(ending) > ms) then return {'lost', value or ''} end
local record = call('HGET', holders, owner)
px = px + (record and tonumber(string.match(record, '^%S+ %S+ (%S+)')) or 0)
local keep, rest = px, call('PTTL', lock)
if rest > px and (value ~= owner or not exact) then keep = rest end
call('PEXPIRE', lock, keep)
call('PEXPIRE', holders, keep)
if value ~= owner then
  if not exact then px = math.max(px, tonumber(ending) - ms) end
  call('ZADD', ends, ms + px, owner)
  call('PEXPIRE', ends, keep)
end
return {'renewed', string.format('%.0f', us), record and string.match(record, '^%S+') or '0'}
