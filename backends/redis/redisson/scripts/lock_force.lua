-- SPDX-License-Identifier: Apache-2.0
-- As Redisson's forceUnlock, of the kinds lock, spin and fenced.
--- include parts/prologue.lua
--- include parts/tell.lua
--- include parts/force_hash.lua
local is_freed, answer = force_hash()
if is_freed then tell(channel, '0') end
return answer
