-- SPDX-License-Identifier: Apache-2.0
-- Begins the lease of a holder again; never makes it shorter, unless it has to be `exact`. One that is over, of which
-- only the lock-delay runs, does not begin again.
-- KEYS: only those that are there and used, so that a cluster takes it while the slot moves: the lock itself in the place
-- of the token, no ends of who holds it alone.
-- ARGV: wake, owner, px, exact, how the command has ended: noted in the place of who asks; may be left out
-- {renewed, us, token, who asks for it back (revoke.lua)} {lost, value}
--- include parts/prologue.lua
--- include ../../deployment/scripts/parts/ran.lua
local _, owner, px, exact, ran = unpack(ARGV)
exact = exact == '1'
if kind ~= 'string' then return {'lost', value} end
local ending = ends and is_marked() and call('ZSCORE', ends, owner)
if value ~= owner and not (ending and tonumber(ending) > ms) then return {'lost', value or ''} end
local record, rest = call('HGET', holders, owner), call('PTTL', lock)
local delay = record and tonumber(string.match(record, '^%S+ %S+ (%S+)')) or 0
local left = value == owner and rest or tonumber(ending) - ms
if delay > 0 and left <= delay then return {'lost', value ~= owner and value or ''} end
px = px + delay
local keep = px
if rest > px and (value ~= owner or not exact) then keep = rest end
call('PEXPIRE', lock, keep)
call('PEXPIRE', holders, keep)
if value ~= owner then
  if not exact then px = math.max(px, tonumber(ending) - ms) end
  call('ZADD', ends, ms + px, owner)
  call('PEXPIRE', ends, keep)
end
if record and ran then
  record = with_ran(record, ran)
  call('HSET', holders, owner, record)
end
-- Who has a key changed is told of its next change only if it has read it since (CLIENT TRACKING).
call('GET', lock)
call('HGET', holders, owner)
local asked = record and string.match(record, who_part .. '([^=].*)') or nil
return {'renewed', string.format('%.0f', us), record and string.match(record, '^%S+') or '0', asked}
