-- SPDX-License-Identifier: Apache-2.0
-- A semaphore: how many permits are left, and its last key, FIELD -> when its permit comes back.
-- That key is Redisson's, with the holders of every client, and has the time to live of the lock's, if that has any; as
-- there, one permit whose time is over comes back with each attempt to take one. Or it is dlock's `own`, of its own holders
-- only, where Redisson has none; then it has no time to live, nor have their records, so that the permit of one who died
-- comes back.
local ledger = KEYS[#KEYS]
local is_own = ARGV[#ARGV] == 'own'
local value = kind == 'string' and call('GET', key)

local function keep_ledger(px)
  if is_own then return end
  local rest = call('PTTL', key)
  if rest > 0 then call('PEXPIRE', ledger, rest) end
  call('PEXPIRE', holders, math.max(px, call('PTTL', holders)))
end

-- So many permits come back. A key that is no longer a semaphore takes none.
local function give_back(number)
  if not is_number(value) or number == 0 then return end
  value = call('INCRBY', key, number)
  if value > 0 then tell(channel, value) end
end

local function drop(field)
  call('HDEL', holders, field)
  return call('ZREM', ledger, field)
end
local function has_permit(field)
  local ending = call('ZSCORE', ledger, field)
  return ending and tonumber(ending) > ms and tonumber(ending)
end
