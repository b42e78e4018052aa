-- SPDX-License-Identifier: Apache-2.0
-- As release.lua, with the lock's own key alone. Nobody is notified.
-- KEYS: the lock. ARGV: wake, owner
-- {released} {several} {gone}
--- include parts/prologue.lua
if kind ~= 'string' or not value then return {'gone'} end
if is_marked() then return {'several'} end
if value ~= ARGV[2] then return {'gone'} end
call('DEL', lock)
return {'released'}
