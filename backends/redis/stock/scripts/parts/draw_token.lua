-- SPDX-License-Identifier: Apache-2.0
local function draw_token()
  local token = decimal(math.max((whole(ask('HGET', meta, 'token') or '0') or 0) + 1, us))
  call('HSET', meta, 'token', token)
  return token
end
