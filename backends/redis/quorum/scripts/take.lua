-- SPDX-License-Identifier: Apache-2.0
-- Takes the lock if it is free or ours already. number: our clock to draw from ('': the server's), or with flag the token
-- to raise to.
--- after key_*.lua
if held and held ~= owner then return answer(-1) end
-- What was freed by force stays free, also while its holder still has most of the other servers.
if not held and flag == '1' and try('HEXISTS', forced, owner) == 1 then return answer(0) end
if not held and flag == '0' and aof == '0' and uptime * 1000 < px + 1000 then return answer(-3) end
if flag == '0' and counter + 1 >= 2 ^ 53 then
  return redis.error_reply('ERR no token is larger than the last one, ' .. call('GET', fence) .. ' in ' .. fence)
end
if not held then
  grant()
  held = owner
elseif call('PTTL', key) < px then
  extend()
end
if flag == '1' then
  raise(tonumber(number))
  enter(number)
else
  raise(math.max(counter + 1, math.min(math.max(tonumber(number) or us, us - 1000000), us + 1000000)))
  enter(string.format('%.0f', counter))
end
return answer(1)
