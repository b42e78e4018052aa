-- SPDX-License-Identifier: Apache-2.0
-- Of a lock that is a hash, FIELD -> how often it is held. Each grant writes, a repeated one too: WAIT speaks of its own
-- connection's last write.
--- include parts/attempt.lua
--- include parts/prove.lua
local function extend()
  local keep = math.max(px, call('PTTL', key))
  call('PEXPIRE', key, keep)
  call('PEXPIRE', holders, keep)
end

-- We have it: an answer was lost. The lease begins again.
local function repeat_grant()
  local token, _, _, entries = record_of(me)
  if has(entries, entry) and call('HEXISTS', key, me) == 1 then
    extend()
    return {'granted', token}
  end
end

local function grant(token)
  prove()
  call('HINCRBY', key, me, 1)
  write_record(me, token, ms, entry, info)
  extend()
  return {'granted', token}
end
