-- SPDX-License-Identifier: Apache-2.0
-- Takes a permit that ends by itself: a string, how many are left. KEYS[4]: zset, FIELD (16 bytes) -> when it ends.
--- include parts/prologue.lua
--- include parts/their_ledger.lua
--- include parts/permit_attempt.lua
return take()
