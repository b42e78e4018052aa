-- SPDX-License-Identifier: Apache-2.0
-- Takes a permit: a string says how many are left. Of the kinds semaphore and permits.
-- ARGV: ... own
--- include parts/prologue.lua
--- include parts/attempt.lua
--- include parts/ledger.lua
local function extend(field)
  call('ZADD', ledger, math.max(ms + px, has_permit(field) or 0), field)
  keep_ledger(px)
end

-- We have it: an answer was lost.
local function repeat_grant()
  local token, _, _, entries = record_of(me)
  if has(entries, entry) and has_permit(me) then
    extend(me)
    return {'granted', token}
  end
end

-- As parts/prove.lua, beside other holders.
local function prove()
  call('ZADD', ledger, 'XX', 0, '')
  call('HDEL', holders, '')
  call('HSET', holders, '', '')
  call('HDEL', holders, '')
  call('ZREM', ledger, '')
  call('INCRBY', key, 0)
  call('GET', key)
  has_permit('')
  record_of('')
end

if kind ~= 'none' and kind ~= 'string' then return busy_foreign() end
if value and not is_number(value) then return bad('the number of permits', value) end
local ledger_kind = call('TYPE', ledger).ok
if ledger_kind ~= 'none' and ledger_kind ~= 'zset' then return bad('the list of permits', ledger_kind) end
local answer = repeat_grant()
if answer then return answer end
if not is_own and kind == 'string' and permits > 0 and value + call('ZCARD', ledger) ~= permits then
  return {'conflict', value + call('ZCARD', ledger) .. ' permits'}
end
if kind == 'none' and permits > 0 then
  call('SET', key, permits)
  kind, value = 'string', permits
  tell(channel, permits)
end
local ended = call('ZRANGEBYSCORE', ledger, '-inf', ms, 'LIMIT', 0, is_own and -1 or 1)
for _, field in ipairs(ended) do drop(field) end
give_back(#ended)
if tonumber(value or 0) < 1 then
  local nearest = call('ZRANGE', ledger, 0, 0, 'WITHSCORES')[2]
  -- Redisson writes that one never ends as a time that is far away.
  if not nearest or tonumber(nearest) > 9e14 then return {'busy', -1, 0, 0} end
  return {'busy', math.max(nearest - ms, 0), 0, 0}
end
prove()
call('DECRBY', key, 1)
write_record(me, '0', ms, entry, info)
extend(me)
return {'granted', '0'}
