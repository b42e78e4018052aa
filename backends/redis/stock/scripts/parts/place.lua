-- SPDX-License-Identifier: Apache-2.0
-- The place that is `number` places behind the first, round and round.
local function place(number) return FIRST + (number % places) * STEP end
