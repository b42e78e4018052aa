-- SPDX-License-Identifier: Apache-2.0
-- The ledger is Redisson's, with the holders of every client: it has the time to live of the key, if that has any. As
-- there, one permit whose time is over comes back with each attempt to take one.
local knows_all, overdue = true, 1
local function keep_ledger(px)
  local rest = redis.call('PTTL', KEYS[1])
  if rest > 0 then redis.call('PEXPIRE', KEYS[#KEYS], rest) end
  redis.call('PEXPIRE', holders, math.max(px, redis.call('PTTL', holders)))
end
