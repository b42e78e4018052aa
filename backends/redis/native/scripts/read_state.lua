-- SPDX-License-Identifier: Apache-2.0
-- Reads all of it, and changes nothing.
-- {us, type, value, pttl, holders, ends, queue, waiting, whether it was ever taken}; of a small hash the value tells whose
-- it is (families.h).
--- include parts/prologue.lua
if kind == 'hash' then
  value = call('HGET', lock, 'mode') or call('HLEN', lock) < 100 and call('HKEYS', lock)[1] or kind
end
return {
  string.format('%.0f', us), kind, value or '', call('PTTL', lock), call('HGETALL', holders),
  call('ZRANGE', ends, 0, -1, 'WITHSCORES'), call('ZRANGE', queue, 0, 999), call('HGETALL', waiting),
  call('GET', fence) and 1 or 0,
}
