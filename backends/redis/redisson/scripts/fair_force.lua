-- SPDX-License-Identifier: Apache-2.0
-- As Redisson's forceUnlock, of the kind fair: the first of those who wait is told.
--- include parts/prologue.lua
--- include parts/tell_first.lua
--- include parts/force_hash.lua
local is_freed, answer = force_hash()
if is_freed then tell_first() end
return answer
