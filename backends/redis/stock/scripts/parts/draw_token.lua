-- SPDX-License-Identifier: Apache-2.0
-- Beyond 2^53 numbers of Lua have gaps: there the server counts by itself, up to where it refuses.
local function draw_token()
  local last = tonumber(ask('HGET', meta, 'token') or 0) or 0
  if last + 1 < 2 ^ 53 then
    local token = decimal(math.max(last + 1, us))
    call('HSET', meta, 'token', token)
    return token
  end
  call('HINCRBY', meta, 'token', 1)
  return call('HGET', meta, 'token')
end
