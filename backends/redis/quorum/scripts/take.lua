-- SPDX-License-Identifier: Apache-2.0
-- Takes the lock if it is free or ours already. number: our clock to draw from ('': the server's), or with flag the token
-- to raise to.
--- after key_*.lua
if held and held ~= owner then return answer(-1) end
-- A lock that somebody else freed stays free, also while its holder still has most of the other servers.
if not held and flag == '1' and try('HEXISTS', forced, owner) == 1 then return answer(0) end
if not held and flag == '0' and aof == '0' and uptime * 1000 < px + 1000 then return answer(-3) end
if flag == '0' and counter + 1 >= 2 ^ 53 then
  return redis.error_reply('ERR no token is larger than the last one, ' .. call('GET', fence) .. ' in ' .. fence)
end
local is_new, to = not held, tonumber(number)
if flag == '0' then to = math.max(counter + 1, math.min(math.max(to or us, us - 1000000), us + 1000000)) end
-- The first change is one that needs memory: a server without any refuses only that. The lock itself comes last: a user who
-- may not do all of it, or not release the lock, is refused while nothing is held.
if is_new then
  prove()
  held = owner
elseif call('PTTL', key) < px then
  extend()
end
raise(to, is_new and call or try)
if is_new then
  drop()
  call('PEXPIRE', holders, px)
end
enter(flag == '1' and number or string.format('%.0f', counter), is_new and px)
if is_new then grant() end
return answer(1)
