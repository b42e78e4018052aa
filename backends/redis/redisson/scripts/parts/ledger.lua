-- SPDX-License-Identifier: Apache-2.0
-- A semaphore: how many permits are left, and its last key, FIELD -> when its permit comes back.
--- include parts/tell.lua
local ledger = KEYS[#KEYS]
local value = kind == 'string' and call('GET', key)

-- So many permits come back. What is no semaphore any more takes none.
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
