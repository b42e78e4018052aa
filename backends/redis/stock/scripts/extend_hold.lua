-- SPDX-License-Identifier: Apache-2.0
-- ARGV: attempt, ttl ms
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
local attempt, ttl = unpack(ARGV)
return run(function()
  call('HDEL', meta, '')
  local hold = ask('HGET', held, attempt)
  if hold then call('HSET', held, attempt, decimal(ms + ttl) .. string.match(hold, '^%d+( .*)$')) end
  return {'ok'}
end)
