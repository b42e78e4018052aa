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
  for joined, field in pairs({[0] = me, [1] = ancestor}) do
    local token, _, _, entries = record_of(field)
    if has(entries, entry) and call('HEXISTS', key, field) == 1 then
      extend()
      return {'granted', token, field, joined}
    end
  end
end

-- We are inside of a hold: Redisson's re-entrance. The token stays the one that the outer command has.
local function join()
  local count = ancestor ~= '' and call('HGET', key, ancestor)
  if not count then return end
  if not is_number(count) then return bad('the count of ' .. ancestor, count) end
  local token, since, _, entries, its_info = record_of(ancestor)
  call('HINCRBY', key, ancestor, 1)
  if token then write_record(ancestor, token, since, entries .. ',' .. entry, its_info) end
  extend()
  return {'granted', token or '0', ancestor, 1}
end

local function grant(token)
  prove()
  call('HINCRBY', key, me, 1)
  write_record(me, token, ms, entry, info)
  extend()
  return {'granted', token, me, 0}
end
