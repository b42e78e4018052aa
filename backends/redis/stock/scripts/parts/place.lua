-- SPDX-License-Identifier: Apache-2.0
-- The segment that is `number` segments after the first, round and round.
local function place(number) return number % segments end
