-- SPDX-License-Identifier: Apache-2.0
--- include parts/recorded.lua
--- include parts/sweep.lua
--- include parts/draw_token.lua
-- The record's answer to a take of so many.
local function told(old, number)
  if old.state == 'A' then return {'restock'} end
  if old.state == 'X' then return {'refunded'} end
  if old.number ~= number then return {'reused', decimal(old.number)} end
  if old.state == 'G' then return {'refunded'} end
  return {'repeated', old.parts}
end
-- The answer to a request that was made before, or nothing.
local function again(id, number, owner, ttl, keep)
  local old = recorded()
  if old then
    local answer = told(old, number)
    if answer[1] == 'repeated' then call('PEXPIRE', request, keep) end
    return answer
  end
  -- A step that touches no reservation has nothing to ask of them where there are none.
  if owner == '' and ask('HLEN', open) == 0 then return end
  sweep()
  local holder, before, parts = reservation(id)
  if not holder then return end
  if before ~= number then return {'reused', decimal(before)} end
  if holder ~= owner then return {'progress'} end
  call('ZADD', ends, ms + ttl, id)
  return {'reserved', parts, draw_token()}
end
