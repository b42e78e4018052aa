-- SPDX-License-Identifier: Apache-2.0
-- Reads all of it, and changes nothing.
-- {us, type, value, pttl, holders, ends, queue, waiting}
--- include parts/prologue.lua
return {
  string.format('%.0f', us), kind, value or '', call('PTTL', lock), call('HGETALL', holders),
  call('ZRANGE', ends, 0, -1, 'WITHSCORES'), call('ZRANGE', queue, 0, 999), call('HGETALL', waiting),
}
