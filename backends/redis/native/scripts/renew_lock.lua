-- SPDX-License-Identifier: Apache-2.0
-- As renew.lua, with the lock's own key alone: of shared and permit holders that is the marker, and renew_end.lua follows.
-- KEYS: the lock. ARGV: wake, owner, px, exact, delay
-- {renewed} {several} {lost, value}
--- include parts/prologue.lua
local _, owner, px, exact, delay = unpack(ARGV)
if kind ~= 'string' or value ~= owner and not is_marked() then return {'lost', value or ''} end
local rest, keep = call('PTTL', lock), px + delay
if value == owner and tonumber(delay) > 0 and rest <= tonumber(delay) then return {'lost', ''} end
if rest > keep and (value ~= owner or exact ~= '1') then keep = rest end
call('PEXPIRE', lock, keep)
-- See renew.lua.
call('GET', lock)
return {value == owner and 'renewed' or 'several'}
