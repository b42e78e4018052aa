-- SPDX-License-Identifier: Apache-2.0
-- Takes a permit of a semaphore: a string, how many are left. KEYS[4]: what dlock itself has out.
--- include parts/prologue.lua
--- include parts/own_ledger.lua
--- include parts/permit_attempt.lua
return take()
