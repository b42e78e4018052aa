-- SPDX-License-Identifier: Apache-2.0
-- The ledger of a semaphore is dlock's own, of its own holders only: Redisson has none. It has no time to live, nor has
-- their record, so that the permit of one who died comes back.
local knows_all, overdue = false, -1
local function keep_ledger() end
