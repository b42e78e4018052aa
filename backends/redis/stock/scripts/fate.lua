-- SPDX-License-Identifier: Apache-2.0
-- What became of an attempt. One that is not committed by now is refused for ever.
-- ARGV: id, attempt, keep ms
-- {committed} {open, ms} {refused}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/recorded.lua
--- include parts/sweep.lua
--- include parts/attempt_of.lua
local id, attempt, keep = unpack(ARGV)
return run(function()
  call('HDEL', meta, '')
  sweep()
  local old = recorded()
  if old and attempt_of(old.parts) == '@' .. attempt then return {'committed'} end
  local _, _, parts = reservation(id)
  if parts and attempt_of(parts) == '@' .. attempt then
    return {'open', decimal(tonumber(ask('ZSCORE', ends, id)) - ms)}
  end
  call('ZREMRANGEBYSCORE', refused, '-inf', ms)
  call('ZADD', refused, ms + keep, attempt)
  return {'refused'}
end)
