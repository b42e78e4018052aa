-- SPDX-License-Identifier: Apache-2.0
-- Takes a lock of the kind lock or fenced. KEYS[3] of fenced: the last token; it stays, without a time to live.
--- include parts/prologue.lua
--- include parts/hash_attempt.lua
if kind ~= 'none' and kind ~= 'hash' then return busy_foreign() end
if kind == 'hash' then
  if call('HEXISTS', key, 'mode') == 1 then return busy_foreign() end
  return repeat_grant() or {'busy', call('PTTL', key), 0, 0}
end
local fence, token = KEYS[3], '0'
if fence then
  token = try('GET', fence)
  if type(token) == 'table' then
    local its_kind = call('TYPE', fence).ok
    if its_kind == 'string' or its_kind == 'none' then return token end
    return bad('the token counter', its_kind)
  end
  if token and not string.find(token, '^%d+$') then return bad('the token counter', token) end
  call('INCR', fence)
  token = call('GET', fence)
end
return grant(token)
