// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock_scripts.h"

// ask(): a read; what it cannot read ends the script. load(): n, r (quantity, reserved by segment) and their sums.
// sweep(): gives back what has expired. A body returns the answer.
#define DLOCK_STOCK_BEGIN                                                                              \
  "local M,N,R,O,U,Q=KEYS[1],KEYS[2],KEYS[3],KEYS[4],KEYS[5],KEYS[6] "                                 \
  "local t=redis.call('TIME') "                                                                        \
  "local us=t[1]*1000000+t[2] "                                                                        \
  "local ms=math.floor(us/1000) "                                                                      \
  "local function num(n) return string.format('%.0f',n) end "                                          \
  "local function broken(why) error({why=why}) end "                                                   \
  "local function ask(...) "                                                                           \
  "local a=redis.pcall(...) "                                                                          \
  "if type(a)=='table' and a.err then error(a) end "                                                   \
  "return a "                                                                                          \
  "end "                                                                                               \
  "local function whole(v) "                                                                           \
  "local n=v and string.match(v,'^%d+$') and tonumber(v) "                                             \
  "if n and n<=9007199254740992 then return n end "                                                    \
  "end "                                                                                               \
  "local made,S "                                                                                      \
  "local n,r,sumN,sumR "                                                                               \
  "local function load() "                                                                             \
  "if n then return end "                                                                              \
  "local f={} "                                                                                        \
  "for i=0,S-1 do f[i+1]=num(i) end "                                                                  \
  "local a,b=ask('HMGET',N,unpack(f)),ask('HMGET',R,unpack(f)) "                                       \
  "n,r,sumN,sumR={},{},0,0 "                                                                           \
  "for i=0,S-1 do "                                                                                    \
  "n[i],r[i]=whole(a[i+1]),whole(b[i+1]) "                                                             \
  "if not n[i] or not r[i] then "                                                                      \
  "broken('segment '..i..' has '..(a[i+1] and '\"'..a[i+1]..'\"' or 'no quantity')..' and '.. "        \
  "(b[i+1] and '\"'..b[i+1]..'\"' or 'nothing')..' set aside') "                                       \
  "end "                                                                                               \
  "sumN,sumR=sumN+n[i],sumR+r[i] "                                                                     \
  "end "                                                                                               \
  "end "                                                                                               \
  "local function split(text) "                                                                        \
  "local p={} "                                                                                        \
  "for s,q in string.gmatch(text,'(%d+):(%d+)') do p[#p+1]={tonumber(s),tonumber(q)} end "             \
  "return p "                                                                                          \
  "end "                                                                                               \
  "local function join(p) "                                                                            \
  "local w={} "                                                                                        \
  "for i,x in ipairs(p) do w[i]=num(x[1])..':'..num(x[2]) end "                                        \
  "return #w>0 and table.concat(w,',') or '-' "                                                        \
  "end "                                                                                               \
  "local function opened(id) "                                                                         \
  "local o=ask('HGET',O,id) "                                                                          \
  "if not o then return end "                                                                          \
  "local who,q,p=string.match(o,'^(%x+) (%d+) (%S+)$') "                                               \
  "if not who then broken('the reservation of '..id..' is \"'..o..'\"') end "                          \
  "return who,tonumber(q),p "                                                                          \
  "end "                                                                                               \
  "local function give_back(id,parts) "                                                                \
  "redis.call('ZREM',U,id) redis.call('HDEL',O,id) "                                                   \
  "for _,p in ipairs(split(parts)) do "                                                                \
  "redis.call('HINCRBY',N,num(p[1]),num(p[2])) redis.call('HINCRBY',R,num(p[1]),num(-p[2])) "          \
  "end "                                                                                               \
  "end "                                                                                               \
  "local function sweep() "                                                                            \
  "local over=ask('ZRANGEBYSCORE',U,'-inf',num(ms),'LIMIT',0,1000) "                                   \
  "if #over==0 then return end "                                                                       \
  "load() "                                                                                            \
  "local all={} "                                                                                      \
  "for i,id in ipairs(over) do "                                                                       \
  "local _,_,parts=opened(id) "                                                                        \
  "all[i]={id,parts or ''} "                                                                           \
  "end "                                                                                               \
  "for _,x in ipairs(all) do give_back(x[1],x[2]) end "                                                \
  "n=nil "                                                                                             \
  "end "                                                                                               \
  "local function recorded() "                                                                         \
  "local v=ask('GET',Q) "                                                                              \
  "if not v then return end "                                                                          \
  "local by,state,q,parts,who,back=string.match(v,'^(%x+) (%a) (%d+) (%S+) (%S+) (%d+)$') "            \
  "if not by then broken('the record of the request is \"'..v..'\"') end "                             \
  "if by==made then return {state=state,q=tonumber(q),parts=parts,who=who,back=tonumber(back)} end "   \
  "end "                                                                                               \
  "local function record(state,q,parts,who,back,keep) "                                                \
  "redis.call('SET',Q,made..' '..state..' '..num(q)..' '..parts..' '..who..' '..num(back),'PX',keep) " \
  "end "                                                                                               \
  "local function token() "                                                                            \
  "local k=num(math.max((whole(ask('HGET',M,'token') or '0') or 0)+1,us)) "                            \
  "redis.call('HSET',M,'token',k) "                                                                    \
  "return k "                                                                                          \
  "end "                                                                                               \
  "local function body() "

// What the data are to blame for is {broken}; what the server refuses (OOM, READONLY, NOPERM) stays an error reply.
#define DLOCK_STOCK_END                                                                                          \
  "end "                                                                                                         \
  "local function main() "                                                                                       \
  "local m=ask('HMGET',M,'made','segments') "                                                                    \
  "if not m[1] then return {'none'} end "                                                                        \
  "made,S=m[1],whole(m[2]) "                                                                                     \
  "if not S or S<1 then broken('its number of segments is \"'..tostring(m[2])..'\"') end "                       \
  "return body() "                                                                                               \
  "end "                                                                                                         \
  "local ok,answer=pcall(main) "                                                                                 \
  "if ok then return answer end "                                                                                \
  "if type(answer)=='table' and answer.why then return {'broken',answer.why} end "                               \
  "local err=type(answer)=='table' and answer.err or tostring(answer) "                                          \
  "err=string.match(err,'%-(%u+ .*)$') or err "                                                                  \
  "if string.find(err,'user executing the script',1,true) then return redis.error_reply('NOPERM '..err) end "    \
  "if string.match(err,'^%u+ ') and not string.match(err,'^ERR ') and not string.match(err,'^WRONGTYPE ') then " \
  "return redis.error_reply(err) "                                                                               \
  "end "                                                                                                         \
  "return {'broken',err} "

namespace dlock::redis {

// ARGV: maker, quantity, quantity of each segment... {made} {exists}
const char* const kStockCreateScript = R"(
local m=redis.pcall('HGET',KEYS[1],'made')
if type(m)=='table' then return {'broken',m.err} end
if m==ARGV[1] then return {'made'} end
if m then return {'exists'} end
redis.call('DEL',KEYS[1],KEYS[2],KEYS[3],KEYS[4],KEYS[5])
for i=3,#ARGV do
  redis.call('HSET',KEYS[2],string.format('%.0f',i-3),ARGV[i])
  redis.call('HSET',KEYS[3],string.format('%.0f',i-3),'0')
end
redis.call('HSET',KEYS[1],'made',ARGV[1],'segments',string.format('%.0f',#ARGV-2),'created',ARGV[2],'added','0',
'taken','0','refunded','0')
return {'made'}
)";

// ARGV: id, quantity, start, only this segment or "", keep ms, owner or "" (for good), ttl ms. {taken, parts}
// {reserved, parts, token} {repeated, parts} {short, available, reserved} {progress} {refunded} {restock} {reused, q}
const char* const kStockTakeScript = DLOCK_STOCK_BEGIN R"(
local id,q,start,only,keep,owner,ttl=ARGV[1],whole(ARGV[2]),tonumber(ARGV[3]),ARGV[4],ARGV[5],ARGV[6],tonumber(ARGV[7])
if not q or q<1 then return {'invalid'} end
local old=recorded()
if old then
  if old.state=='A' then return {'restock'} end
  if old.state=='X' then return {'refunded'} end
  if old.q~=q then return {'reused',num(old.q)} end
  if old.state=='G' then return {'refunded'} end
  redis.call('PEXPIRE',Q,keep)
  return {'repeated',old.parts}
end
sweep()
local who,oq,oparts=opened(id)
if who then
  if oq~=q then return {'reused',num(oq)} end
  if who~=owner then return {'progress'} end
  redis.call('ZADD',U,num(ms+ttl),id)
  return {'reserved',oparts,token()}
end
local parts
if only~='' then
  load()
  local i=tonumber(only)
  if i<S and n[i]>=q then parts={{i,q}} end
else
  local i=start%S
  local here=whole(ask('HGET',N,num(i)))
  if here and here>=q then parts={{i,q}}
  else
    load()
    for k=0,S-1 do
      local j=(start+k)%S
      if n[j]>=q then parts={{j,q}} break end
    end
    if not parts and sumN>=q then
      local order={}
      for k=0,S-1 do order[k+1]={(start+k)%S,k} end
      table.sort(order,function(a,b) if n[a[1]]==n[b[1]] then return a[2]<b[2] end return n[a[1]]>n[b[1]] end)
      parts={}
      local rest=q
      for _,x in ipairs(order) do
        local some=math.min(rest,n[x[1]])
        if some==0 then break end
        parts[#parts+1]={x[1],some}
        rest=rest-some
      end
    end
  end
end
if not parts then load() return {'short',num(sumN),num(sumR)} end
local text=join(parts)
if owner=='' then
  if not whole(ask('HGET',M,'taken')) then broken('it does not know what was taken') end
  for _,p in ipairs(parts) do redis.call('HINCRBY',N,num(p[1]),num(-p[2])) end
  redis.call('HINCRBY',M,'taken',num(q))
  record('T',q,text,'-',0,keep)
  return {'taken',text}
end
load()
for _,p in ipairs(parts) do
  redis.call('HINCRBY',N,num(p[1]),num(-p[2])) redis.call('HINCRBY',R,num(p[1]),num(p[2]))
end
redis.call('HSET',O,id,owner..' '..num(q)..' '..text)
redis.call('ZADD',U,num(ms+ttl),id)
return {'reserved',text,token()}
)" DLOCK_STOCK_END;

// ARGV: id, owner, ttl ms. {ok} {over}
const char* const kStockExtendScript = DLOCK_STOCK_BEGIN R"(
redis.call('HDEL',M,'')
sweep()
if opened(ARGV[1])~=ARGV[2] then return {'over'} end
redis.call('ZADD',U,num(ms+tonumber(ARGV[3])),ARGV[1])
return {'ok'}
)" DLOCK_STOCK_END;

// ARGV: id, owner, keep ms. {ok} {over}
const char* const kStockConfirmScript = DLOCK_STOCK_BEGIN R"(
local old=recorded()
if old and old.who==ARGV[2] and (old.state=='T' or old.state=='G') then
  redis.call('PEXPIRE',Q,ARGV[3])
  return {'ok'}
end
redis.call('HDEL',M,'')
sweep()
local who,q,parts=opened(ARGV[1])
if who~=ARGV[2] then return {'over'} end
load()
redis.call('ZREM',U,ARGV[1]) redis.call('HDEL',O,ARGV[1])
for _,p in ipairs(split(parts)) do redis.call('HINCRBY',R,num(p[1]),num(-p[2])) end
redis.call('HINCRBY',M,'taken',num(q))
record('T',q,parts,who,0,ARGV[3])
return {'ok'}
)" DLOCK_STOCK_END;

// ARGV: id, owner. {ok}
const char* const kStockCancelScript = DLOCK_STOCK_BEGIN R"(
local who,_,parts=opened(ARGV[1])
if who==ARGV[2] then load() give_back(ARGV[1],parts) end
return {'ok'}
)" DLOCK_STOCK_END;

// ARGV: id, quantity or "", keep ms. {nothing} {back, parts} {running} {restock} {more, taken} {otherwise, before}
const char* const kStockRefundScript = DLOCK_STOCK_BEGIN R"(
local id,keep=ARGV[1],ARGV[3]
local old=recorded()
if not old then
  sweep()
  if opened(id) then return {'running'} end
  record('X',0,'-','-',0,keep)
  return {'nothing'}
end
if old.state=='A' then return {'restock'} end
if old.state=='X' then
  redis.call('PEXPIRE',Q,keep)
  return {'nothing'}
end
local want=old.q
if ARGV[2]~='' then want=whole(ARGV[2]) end
if not want then return {'invalid'} end
local back={}
local rest=want
for _,p in ipairs(split(old.parts)) do
  local some=math.min(rest,p[2])
  if some>0 then back[#back+1]={p[1],some} end
  rest=rest-some
end
if old.state=='G' then
  if old.back~=want then return {'otherwise',num(old.back)} end
  redis.call('PEXPIRE',Q,keep)
  return {'back',join(back)}
end
if want>old.q then return {'more',num(old.q)} end
load()
redis.call('HDEL',M,'')
for _,p in ipairs(back) do
  local home=p[1]
  if home>=S then home=home%S end
  redis.call('HINCRBY',N,num(home),num(p[2]))
end
redis.call('HINCRBY',M,'refunded',num(want))
record('G',old.q,old.parts,old.who,want,keep)
return {'back',join(back)}
)" DLOCK_STOCK_END;

// ARGV: id, quantity, keep ms. {added, parts} {take} {reused, before}. The emptiest segments are filled to one level.
const char* const kStockAddScript = DLOCK_STOCK_BEGIN R"(
local id,q,keep=ARGV[1],whole(ARGV[2]),ARGV[3]
if not q or q<1 then return {'invalid'} end
local old=recorded()
if old then
  if old.state~='A' then return {'take'} end
  if old.q~=q then return {'reused',num(old.q)} end
  redis.call('PEXPIRE',Q,keep)
  return {'added',old.parts}
end
sweep()
if opened(id) then return {'take'} end
load()
local order={}
for i=0,S-1 do order[i+1]=i end
table.sort(order,function(a,b) if n[a]==n[b] then return a<b end return n[a]<n[b] end)
local count,missing=1,0
while count<S do
  local lift=count*(n[order[count+1]]-n[order[count]])
  if missing+lift>q then break end
  missing=missing+lift
  count=count+1
end
local level,rest=n[order[count]],q-missing
local parts={}
for i=1,count do
  local more=level-n[order[i]]+math.floor(rest/count)
  if i<=rest%count then more=more+1 end
  if more>0 then parts[#parts+1]={order[i],more} end
end
table.sort(parts,function(a,b) return a[1]<b[1] end)
for _,p in ipairs(parts) do redis.call('HINCRBY',N,num(p[1]),num(p[2])) end
redis.call('HINCRBY',M,'added',num(q))
record('A',q,join(parts),'-',0,keep)
return {'added',join(parts)}
)" DLOCK_STOCK_END;

// ARGV: segments, or "": as many as there are. {ok}
const char* const kStockLevelScript = DLOCK_STOCK_BEGIN R"(
sweep()
load()
local to=S
if ARGV[1]~='' then to=tonumber(ARGV[1]) end
local moved={}
if to<S then
  for _,id in ipairs(ask('HKEYS',O)) do
    local who,q,parts=opened(id)
    parts=split(parts)
    for _,p in ipairs(parts) do
      if p[1]>=to then
        r[p[1]]=r[p[1]]-p[2]
        p[1]=p[1]%to
        r[p[1]]=r[p[1]]+p[2]
      end
    end
    moved[#moved+1]={id,who..' '..num(q)..' '..join(parts)}
  end
end
for _,x in ipairs(moved) do redis.call('HSET',O,x[1],x[2]) end
for i=0,to-1 do
  local each=math.floor(sumN/to)
  if i<sumN%to then each=each+1 end
  redis.call('HSET',N,num(i),num(each))
  redis.call('HSET',R,num(i),num(r[i] or 0))
end
for i=to,S-1 do redis.call('HDEL',N,num(i)) redis.call('HDEL',R,num(i)) end
redis.call('HSET',M,'segments',num(to))
return {'ok'}
)" DLOCK_STOCK_END;

// {ok}. Records of requests end by themselves; a new stock of that name does not believe them.
const char* const kStockDropScript = R"(
local m=redis.pcall('HGET',KEYS[1],'made')
if type(m)=='table' then return {'broken',m.err} end
if not m then return {'none'} end
redis.call('DEL',KEYS[1],KEYS[2],KEYS[3],KEYS[4],KEYS[5])
return {'ok'}
)";

// {state, created, added, taken, refunded, open, quantities, reserved}
const char* const kStockShowScript = DLOCK_STOCK_BEGIN R"(
sweep()
load()
local c=ask('HMGET',M,'created','added','taken','refunded')
for i=1,4 do if not whole(c[i]) then broken('one of its counters is "'..tostring(c[i])..'"') end end
local a,b={},{}
for i=0,S-1 do a[i+1],b[i+1]=num(n[i]),num(r[i]) end
return {'state',c[1],c[2],c[3],c[4],num(ask('HLEN',O)),a,b}
)" DLOCK_STOCK_END;

}  // namespace dlock::redis
