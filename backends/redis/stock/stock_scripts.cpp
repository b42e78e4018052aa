// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_scripts.h"

namespace dlock::redis {

// ARGV: maker, born or "" (the first slot), making or "", segments, created, quantity of each place... {made, born}
// {exists} {dropping}
const StockScript kStockCreate = {R"(
local m=redis.pcall('HMGET',M,'made','born','dropping')
if m.err then return {'failed',m.err} end
local t=redis.call('TIME')
local born=ARGV[2]
if m[1]==ARGV[1] then return {'made',m[2] or ''} end
if born=='' then
  if m[1] and m[3] then return {'dropping'} end
  if m[1] then return {'exists'} end
  born=num(math.max(t[1]*1000000+t[2],(tonumber(ask('GET',M..':dead') or '0') or 0)+1))
elseif tonumber(m[1] and m[2] or 0)>=tonumber(born) or tonumber(ask('GET',M..':dead') or 0)>=tonumber(born) then
  return {'made',born}
end
redis.call('DEL',M,N,R,O,U,G,W,F)
for i=6,#ARGV do
  put(A+(i-6)*B,tonumber(ARGV[i]))
  redis.call('HSET',R,num(A+(i-6)*B),'0')
end
redis.call('HSET',M,'made',ARGV[1],'segments',ARGV[4],'created',ARGV[5],'added','0','taken','0','refunded','0')
if B>1 then redis.call('HSET',M,'born',born,'gains','0') end
if ARGV[3]~='' then redis.call('HSET',M,'making',ARGV[3]) end
return {'made',born}
)",
                                  false};

// ARGV: id, quantity, start, only this segment or "", keep ms, owner or "" (for good), ttl ms. {taken, parts}
// {reserved, parts, token} {repeated, parts} {short, available, reserved} {progress} {refunded} {restock} {reused, q}
const StockScript kStockTake = {R"(
local id,q,start,only,keep,owner,ttl=ARGV[1],whole(ARGV[2]),tonumber(ARGV[3]),ARGV[4],ARGV[5],ARGV[6],tonumber(ARGV[7])
if not q or q<1 then return {'invalid'} end
local old=again(id,q,owner,ttl,keep)
if old then return old end
local parts
if only~='' then
  load()
  local i=tonumber(only)
  if i<S and n[i] and n[i]>=q then parts={{i,q}} end
else
  local i=place(start)
  local here=whole(count(i))
  if here and here>=q then parts={{i,q}}
  else
    load()
    for k=0,L-1 do
      local j=place(start+k)
      if n[j]>=q then parts={{j,q}} break end
    end
    if not parts and sumN>=q then
      local order={}
      for k=0,L-1 do order[k+1]={place(start+k),k} end
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
return deduct(id,q,parts,join(parts),owner,ttl,keep)
)"};

// ARGV: id, owner, ttl ms. {ok} {over}
const StockScript kStockExtend = {R"(
redis.call('HDEL',M,'')
sweep()
if opened(ARGV[1])~=ARGV[2] then return {'over'} end
redis.call('ZADD',U,num(ms+tonumber(ARGV[3])),ARGV[1])
return {'ok'}
)"};

// ARGV: id, owner, keep ms. {ok, parts} {over}
const StockScript kStockConfirm = {R"(
local old=recorded()
if old and old.who==ARGV[2] and (old.state=='T' or old.state=='G') then
  redis.call('PEXPIRE',Q,ARGV[3])
  return {'ok',old.parts}
end
redis.call('HDEL',M,'')
sweep()
local who,q,parts=opened(ARGV[1])
if who~=ARGV[2] then return {'over'} end
load()
redis.call('ZREM',U,ARGV[1]) redis.call('HDEL',O,ARGV[1])
local here=mine(parts)
for _,p in ipairs(here) do aside(p[1],-p[2]) end
redis.call('HINCRBY',M,'taken',num(total(here)))
record('T',q,parts,who,0,ARGV[3])
return {'ok',parts}
)"};

// ARGV: id, owner. {ok, parts}
const StockScript kStockCancel = {R"(
local who,_,parts=opened(ARGV[1])
if who~=ARGV[2] then return {'ok','-'} end
load()
give_back(ARGV[1],parts)
return {'ok',parts}
)"};

// ARGV: id, quantity or "", keep ms. {nothing} {back, parts, owed, made} {running} {restock} {more, taken}
// {otherwise, before}
const StockScript kStockRefund = {R"(
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
  return {'back',join(back),owes(id),made}
end
if want>old.q then return {'more',num(old.q)} end
load()
redis.call('HDEL',M,'')
local owed,here={},0
for _,p in ipairs(back) do
  local home=p[1]
  if home>=S then home=home%S end
  if home%B==A then
    gain(home,p[2])
    here=here+p[2]
  else owed[#owed+1]={home,p[2]} end
end
redis.call('HINCRBY',M,'refunded',num(here))
record('G',old.q,old.parts,old.who,want,keep)
return {'back',join(back),owes(id,'r ',owed),made}
)"};

// ARGV: id, quantity, keep ms, parts or "": the emptiest segments here are filled to one level. {added, parts, owed,
// made} {take} {reused, before}
const StockScript kStockAdd = {R"(
local id,q,keep=ARGV[1],whole(ARGV[2]),ARGV[3]
if not q or q<1 then return {'invalid'} end
local old=recorded()
if old then
  if old.state~='A' then return {'take'} end
  if old.q~=q then return {'reused',num(old.q)} end
  redis.call('PEXPIRE',Q,keep)
  return {'added',old.parts,owes(id),made}
end
sweep()
if opened(id) then return {'take'} end
load()
local parts={}
if ARGV[4]~='' then parts=split(ARGV[4])
else
  local order={}
  for k=0,L-1 do order[k+1]=place(k) end
  table.sort(order,function(a,b) if n[a]==n[b] then return a<b end return n[a]<n[b] end)
  local count,missing=1,0
  while count<L do
    local lift=count*(n[order[count+1]]-n[order[count]])
    if missing+lift>q then break end
    missing=missing+lift
    count=count+1
  end
  local level,rest=n[order[count]],q-missing
  for i=1,count do
    local more=level-n[order[i]]+math.floor(rest/count)
    if i<=rest%count then more=more+1 end
    if more>0 then parts[#parts+1]={order[i],more} end
  end
  table.sort(parts,function(a,b) return a[1]<b[1] end)
end
local owed,here={},0
for _,p in ipairs(parts) do
  if p[1]%B==A then
    gain(nearest(p[1]),p[2])
    here=here+p[2]
  else owed[#owed+1]=p end
end
redis.call('HINCRBY',M,'added',num(here))
record('A',q,join(parts),'-',0,keep)
return {'added',join(parts),owes(id,'a ',owed),made}
)"};

// ARGV: segments, or "": as many as there are. {ok}
const StockScript kStockLevel = {R"(
sweep()
load()
local to=S
if ARGV[1]~='' then to=tonumber(ARGV[1]) end
level(to,sumN)
return {'ok'}
)"};

// ARGV: made and born, or "" and "". {ok}. Records of requests end by themselves; a new stock of that name does not
// believe them. What was dropped is not made anew by somebody who comes too late.
const StockScript kStockDrop = {R"(
local m=redis.pcall('HMGET',M,'made','segments')
if m.err then return {'failed',m.err} end
if not m[1] and ARGV[1]=='' then return {'none'} end
if ARGV[1]~='' then redis.call('SET',M..':dead',ARGV[2],'PX','86400000') end
if not m[1] or (ARGV[1]~='' and m[1]~=ARGV[1]) then return {'ok'} end
for i=A,math.max(A,(tonumber(m[2]) or 1)-1),B do forget(i) end
redis.call('DEL',M,N,R,O,U,G,W,F)
return {'ok'}
)",
                                false};

// {look, created, added, taken, refunded, open, quantities, reserved, made, born, dropping, making, segments, epoch,
// levelling, gains, {attempt, id ...} overdue, {id, owed ...}}
const StockScript kStockLook = {R"(
sweep()
load()
local c=ask('HMGET',M,'created','added','taken','refunded','born','dropping','making','epoch','levelling','gains')
for i=1,4 do if not whole(c[i]) then broken('one of its counters is "'..tostring(c[i])..'"') end end
local a,b={},{}
for k=1,L do a[k],b[k]=num(n[place(k-1)]),num(r[place(k-1)]) end
local late,owed={},{}
if B>1 then
  local all=ask('HGETALL',G)
  for i=1,#all,2 do
    local ends,_,id=string.match(all[i+1],'^(%d+) (%S+) (.*)$')
    if tonumber(ends)<=ms then late[#late+1]=all[i] late[#late+1]=id end
  end
  owed=ask('HGETALL',W)
end
return {'look',c[1],c[2],c[3],c[4],num(ask('HLEN',O)),a,b,made,c[5] or '',c[6] or '',c[7] or '',num(S),c[8] or '0',
  c[9] or '',c[10] or '0',late,owed}
)"};

}  // namespace dlock::redis
