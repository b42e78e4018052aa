-- SPDX-License-Identifier: Apache-2.0
-- Reads all of it, and changes nothing.
-- {us, type, value, pttl, holders, ends, the first of the queue, what is known of each of them, how many wait, whether it was
-- ever taken}
--- include parts/prologue.lua
--- include parts/family.lua
local first, known = call('ZRANGE', queue, 0, 999), {}
for i, waiter in ipairs(first) do known[i] = call('HGET', waiting, waiter) or '' end
return {
  string.format('%.0f', us), kind, value or '', call('PTTL', lock), call('HGETALL', holders),
  call('ZRANGE', ends, 0, -1, 'WITHSCORES'), first, known, call('ZCARD', queue), call('GET', fence) and 1 or 0,
}
