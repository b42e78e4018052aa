// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/native_scripts.h"

// A holder's record: "TOKEN SINCE_MS DELAY_MS ENTRY,ENTRY,... INFO"; a waiter's: "ALIVE_MS SINCE_MS MODE POLLS INFO"
// (mode w: takes nothing). An entry is one acquisition: the outer one and those that joined it.

#define DLOCK_PROLOGUE                                                 \
  "local K,F,H,U,Q,W=KEYS[1],KEYS[2],KEYS[3],KEYS[4],KEYS[5],KEYS[6] " \
  "local C=ARGV[1] "                                                   \
  "local t=redis.call('TIME') "                                        \
  "local us=t[1]*1000000+t[2] "                                        \
  "local ms=math.floor(us/1000) "                                      \
  "local function num(n) return string.format('%.0f',n) end "          \
  "local v=redis.pcall('GET',K) "                                      \
  "local kind='string' "                                               \
  "if type(v)=='table' then kind=redis.call('TYPE',K)['ok'] "          \
  "if kind=='string' then return v end v=kind end "                    \
  "local function marked() return v and string.sub(v,1,6)=='dlock:' end "

// Readers and permit holders whose lease has ended; the marker goes with the last of them.
#define DLOCK_PRUNE                                                     \
  "local function prune() "                                             \
  "if not marked() then return end "                                    \
  "for _,o in ipairs(redis.call('ZRANGEBYSCORE',U,'-inf',num(ms))) do " \
  "redis.call('ZREM',U,o) redis.call('HDEL',H,o) end "                  \
  "if redis.call('ZCARD',U)==0 then redis.call('DEL',K,H,U) v=false end end "

// Tells the first waiter that listens. A waiter whose connection is gone leaves the queue: it comes back to its old
// place if it lives. Where channels are refused waiters look by themselves.
#define DLOCK_WAKE                                               \
  "local function wake() "                                       \
  "for i=1,1000 do "                                             \
  "local w=redis.call('ZRANGE',Q,0,0)[1] "                       \
  "if not w then return end "                                    \
  "local r=redis.call('HGET',W,w) "                              \
  "local polls=r and string.match(r,'^%S+ %S+ %S+ (%S+)')=='1' " \
  "local heard=redis.pcall('PUBLISH',C..w,'free') "              \
  "if type(heard)=='table' or heard>0 or polls then return end " \
  "redis.call('ZREM',Q,w) redis.call('HDEL',W,w) end end "

namespace dlock::redis {

// ARGV: wake, me, mode x|s|p, px, permits, info, flags (e: enqueue, f: fair, p: polls, w: only wait), ancestor, its
// token, arrival or "", delay ms, alive ms. Each grant writes, a repeated one too: WAIT speaks of its own connection's
// last write. {granted, token, owner, joined} {busy, pttl, rank, arrival, foreign}
// {conflict, what} {self} {free}
const char* const kAcquireScript = DLOCK_PROLOGUE DLOCK_PRUNE DLOCK_WAKE R"(
local me,mode,px,permits,info,flags=ARGV[2],ARGV[3],tonumber(ARGV[4]),tonumber(ARGV[5]),ARGV[6],ARGV[7]
local anc,anctok=ARGV[8],ARGV[9]
local function has(f) return string.find(flags,f,1,true) end
local function leave() redis.call('ZREM',Q,me) redis.call('HDEL',W,me) end
local function parts(o)
  local r=redis.call('HGET',H,o)
  if not r then return end
  return string.match(r,'^(%S+) (%S+) (%S+) (%S+) (.*)$')
end
local function extend()
  local keep=num(math.max(px,redis.call('PTTL',K)))
  redis.call('PEXPIRE',K,keep) redis.call('PEXPIRE',H,keep)
  if marked() then redis.call('ZADD',U,num(ms+px),me) redis.call('PEXPIRE',U,keep) end
end
if kind=='string' then prune() end
local marker=me
if mode=='s' then marker='dlock:shared' elseif mode=='p' then marker='dlock:permits:'..ARGV[5] end
local function live(o) return v==o or (marked() and redis.call('ZSCORE',U,o)) end
if v and kind=='string' then
  if live(me) then
    local token=parts(me)
    if token then extend() return {'granted',token,me,0} end
  end
  if anc~='' and live(anc) then
    local token,since,delay,entries,i=parts(anc)
    if token==anctok and marked() and mode=='x' then return {'self'} end
    if token==anctok and (not marked() or v==marker) then
      redis.call('PEXPIRE',K,math.max(px,redis.call('PTTL',K)))
      redis.call('PEXPIRE',H,math.max(px,redis.call('PTTL',H)))
      if marked() then
        redis.call('ZADD',U,num(math.max(ms+px,tonumber(redis.call('ZSCORE',U,anc)))),anc)
        redis.call('PEXPIRE',U,redis.call('PTTL',K))
      end
      if not string.find(entries,me,1,true) then entries=entries..','..me end
      redis.call('HSET',H,anc,token..' '..since..' '..delay..' '..entries..' '..i)
      return {'granted',token,anc,1}
    end
  end
end
if has('w') and not v then return {'free'} end
local count=0
local open=not v
if kind=='string' and marked() and mode~='x' then
  if v~=marker then return {'conflict',v} end
  count=redis.call('ZCARD',U)
  open=mode=='s' or count<permits
end
local function rank()
  while true do
    local w=redis.call('ZRANGE',Q,0,0)[1]
    if not w or w==me then break end
    local r=redis.call('HGET',W,w)
    if r and tonumber(string.match(r,'^%S+'))>ms then break end
    redis.call('ZREM',Q,w) redis.call('HDEL',W,w)
  end
  return redis.call('ZRANK',Q,me) or redis.call('ZCARD',Q)
end
local place=-1
if open and not has('w') and (has('f') or mode~='x') then
  place=rank()
  if mode=='x' then open=place==0
  elseif place>0 then
    if mode=='p' then open=place<permits-count end
    for _,w in ipairs(redis.call('ZRANGE',Q,0,place-1)) do
      local r=redis.call('HGET',W,w)
      local m=r and string.match(r,'^%S+ %S+ (%S+)') or 'w'
      if m~='w' and m~=mode then open=false break end
    end
  end
end
if open and not has('w') then
  local keep=px
  if marked() then keep=math.max(px,redis.call('PTTL',K)) end
  redis.call('SET',K,marker,'PX',num(keep))
  if not v then redis.call('DEL',H,U) end
  local token=num(math.max(tonumber(redis.call('GET',F) or '0')+1,us))
  redis.call('SET',F,token)
  redis.call('HSET',H,me,token..' '..num(ms)..' '..ARGV[11]..' '..me..' '..info)
  redis.call('PEXPIRE',H,num(keep))
  if mode~='x' then redis.call('ZADD',U,num(ms+px),me) redis.call('PEXPIRE',U,num(keep)) end
  if has('e') or ARGV[10]~='' then leave() end
  if mode~='x' then wake() end
  return {'granted',token,me,0}
end
local foreign=0
if v and kind~='string' then foreign=1
elseif v and not marked() and redis.call('HEXISTS',H,v)==0 then foreign=1 end
local arrival=ARGV[10]
if has('e') then
  local alive=tonumber(ARGV[12])
  if arrival=='' then arrival=num(us) end
  local since=num(math.floor(tonumber(arrival)/1000))
  if has('w') then mode='w' end
  local polls='0'
  if has('p') then polls='1' end
  redis.pcall('ZADD',Q,arrival,me)
  redis.pcall('HSET',W,me,num(ms+alive)..' '..since..' '..mode..' '..polls..' '..info)
  redis.pcall('PEXPIRE',Q,num(alive*3)) redis.pcall('PEXPIRE',W,num(alive*3))
end
if place<0 or has('e') then place=rank() end
return {'busy',redis.call('PTTL',K),place,arrival,foreign}
)";

// ARGV: wake, owner, px, exact. {renewed, us} {lost, value}
const char* const kRenewScript = DLOCK_PROLOGUE R"(
local o,px,exact=ARGV[2],tonumber(ARGV[3]),ARGV[4]=='1'
if kind~='string' then return {'lost',v} end
local score=marked() and redis.call('ZSCORE',U,o)
if v~=o and not (score and tonumber(score)>ms) then return {'lost',v or ''} end
local r=redis.call('HGET',H,o)
local delay=r and tonumber(string.match(r,'^%S+ %S+ (%S+)')) or 0
px=px+delay
local now=redis.call('PTTL',K)
local keep=px
if now>px and (v~=o or not exact) then keep=now end
redis.call('PEXPIRE',K,num(keep)) redis.call('PEXPIRE',H,num(keep))
if v~=o then
  if not exact then px=math.max(px,tonumber(score)-ms) end
  redis.call('ZADD',U,num(ms+px),o) redis.call('PEXPIRE',U,num(keep))
end
return {'renewed',num(us),r and string.match(r,'^%S+') or '0'}
)";

// ARGV: wake, owner, entry ("": all). {released, entries left} {gone, value}
const char* const kReleaseScript = DLOCK_PROLOGUE DLOCK_WAKE R"(
local o,entry=ARGV[2],ARGV[3]
local waited=entry~='' and redis.call('ZREM',Q,entry)==1
if entry~='' then redis.call('HDEL',W,entry) end
local score=kind=='string' and marked() and redis.call('ZSCORE',U,o)
if kind~='string' or (v~=o and not (score and tonumber(score)>ms)) then
  if waited and not v then wake() end
  return {'gone',v or ''}
end
local r=redis.call('HGET',H,o)
if entry~='' and r then
  local token,since,delay,entries,i=string.match(r,'^(%S+) (%S+) (%S+) (%S+) (.*)$')
  local rest={}
  local mine=false
  for e in string.gmatch(entries,'[^,]+') do
    if e==entry then mine=true else rest[#rest+1]=e end
  end
  if not mine then return {'gone',v} end
  if #rest>0 then
    redis.call('HDEL',H,'')
    redis.call('HSET',H,o,token..' '..since..' '..delay..' '..table.concat(rest,',')..' '..i)
    return {'released',#rest}
  end
end
if v==o then redis.call('DEL',K,H,U)
else
  redis.call('ZREM',U,o) redis.call('HDEL',H,o)
  if redis.call('ZCARD',U)==0 then redis.call('DEL',K,H,U) end
end
wake()
return {'released',0}
)";

// ARGV: wake, owner, token, owner, token, ...: exactly the holders that were shown. {freed} {conflict}
const char* const kForceScript = DLOCK_PROLOGUE DLOCK_PRUNE DLOCK_WAKE R"(
if kind~='string' then return {'foreign',v} end
prune()
local now={}
local n=0
if marked() then
  for _,o in ipairs(redis.call('ZRANGE',U,0,-1)) do now[o]='0' n=n+1 end
elseif v then now[v]='0' n=1 end
local delay=0
for o,_ in pairs(now) do
  local r=redis.call('HGET',H,o)
  if r then
    now[o]=string.match(r,'^%S+')
    delay=tonumber(string.match(r,'^%S+ %S+ (%S+)'))
  end
end
if n~=(#ARGV-1)/2 then return {'conflict'} end
for i=2,#ARGV,2 do if now[ARGV[i]]~=ARGV[i+1] then return {'conflict'} end end
if n>0 then
  redis.call('DEL',K,H,U)
  if delay>0 then redis.call('SET',K,'dlock-delay','PX',num(delay)) else wake() end
end
return {'freed'}
)";

// {us, type, value, pttl, holders, until, queue, waiting}
const char* const kLookScript = DLOCK_PROLOGUE R"(
return {num(us),kind,v or '',redis.call('PTTL',K),redis.call('HGETALL',H),redis.call('ZRANGE',U,0,-1,'WITHSCORES'),
redis.call('ZRANGE',Q,0,999),redis.call('HGETALL',W)}
)";

}  // namespace dlock::redis
