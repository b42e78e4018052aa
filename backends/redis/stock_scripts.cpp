// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock_scripts.h"

namespace dlock::redis {
namespace {

// ask(): a read; what it cannot read ends the script.
const char* const kHead = R"(
local M,N,R,O,U,Q,G,W,F=unpack(KEYS)
local function num(n) return string.format('%.0f',n) end
local function broken(why) error({why=why}) end
local function ask(...)
  local a=redis.pcall(...)
  if type(a)=='table' and a.err then error(a) end
  return a
end
local function whole(v)
  local n=v and string.match(v,'^%d+$') and tonumber(v)
  if n and n<=9007199254740992 then return n end
end
)";

// What keeps quantities: read one or several (false: none), change, set, remove.
const char* const kHash = R"(
local function counts(f) return ask('HMGET',N,unpack(f)) end
local function count(i) return ask('HGET',N,num(i)) end
local function change(i,d) redis.call('HINCRBY',N,num(i),num(d)) end
local function put(i,v) redis.call('HSET',N,num(i),num(v)) end
local function forget(i) redis.call('HDEL',N,num(i)) end
)";
const char* const kPlain = R"(
local function at(i) return N..':'..num(i) end
local function counts(f)
  local k={}
  for i,x in ipairs(f) do k[i]=N..':'..x end
  return ask('MGET',unpack(k))
end
local function count(i) return ask('GET',at(i)) end
local function change(i,d)
  if d<0 then redis.call('DECRBY',at(i),num(-d)) else redis.call('INCRBY',at(i),num(d)) end
end
local function put(i,v) redis.call('SET',at(i),num(v)) end
local function forget(i) redis.call('DEL',at(i)) end
)";
const char* const kTair = R"(
local function at(i) return N..':'..num(i) end
local function count(i)
  local v=ask('EXGET',at(i))
  return v and v[1]
end
local function counts(f)
  local c={}
  for i,x in ipairs(f) do c[i]=count(x) end
  return c
end
local function change(i,d) redis.call('EXINCRBY',at(i),num(d),'MIN',0) end
local function put(i,v) redis.call('EXSET',at(i),num(v)) end
local function forget(i) redis.call('DEL',at(i)) end
)";

// load(): n, r (quantity, reserved by place) and their sums. S: how many segments; the places A, A+B ... last, L of
// them. sweep(): gives back what has expired. A body returns the answer.
const char* const kOfStock = R"(
local t=redis.call('TIME')
local us=t[1]*1000000+t[2]
local ms=math.floor(us/1000)
local made,S,last,L
local n,r,sumN,sumR
local function sized(s)
  S,last=s,A
  if s>A then last=A+math.floor((s-1-A)/B)*B end
  L=(last-A)/B+1
  n=nil
end
local function place(k) return A+(k%L)*B end
local function nearest(p)
  if p%B==A and p<=last then return p end
  return place(math.floor(p/B))
end
local function load()
  if n then return end
  local f={}
  for i=A,last,B do f[#f+1]=num(i) end
  local a,b=counts(f),ask('HMGET',R,unpack(f))
  n,r,sumN,sumR={},{},0,0
  for k=1,L do
    local i=A+(k-1)*B
    n[i],r[i]=whole(a[k]),whole(b[k])
    if not n[i] or not r[i] then
      broken('segment '..num(i)..' has '..(a[k] and '"'..a[k]..'"' or 'no quantity')..' and '..
        (b[k] and '"'..b[k]..'"' or 'nothing')..' set aside')
    end
    sumN,sumR=sumN+n[i],sumR+r[i]
  end
end
local function split(text)
  local p={}
  for s,q in string.gmatch(text,'(%d+):(%d+)') do p[#p+1]={tonumber(s),tonumber(q)} end
  return p
end
local function mine(text)
  local p={}
  for _,x in ipairs(split(text)) do if x[1]%B==A then p[#p+1]=x end end
  return p
end
local function join(p)
  local w={}
  for i,x in ipairs(p) do w[i]=num(x[1])..':'..num(x[2]) end
  return #w>0 and table.concat(w,',') or '-'
end
local function attempt_of(parts) return string.match(parts,'@.*$') or '' end
local function total(p)
  local sum=0
  for _,x in ipairs(p) do sum=sum+x[2] end
  return sum
end
local function gain(i,q)
  change(i,q)
  if B>1 then redis.call('HINCRBY',M,'gains','1') end
end
local function aside(i,d) redis.call('HINCRBY',R,num(i),num(d)) end
local function opened(id)
  local o=ask('HGET',O,id)
  if not o then return end
  local who,q,p=string.match(o,'^(%x+) (%d+) (%S+)$')
  if not who then broken('the reservation of '..id..' is "'..o..'"') end
  return who,tonumber(q),p
end
local function give_back(id,parts)
  redis.call('ZREM',U,id) redis.call('HDEL',O,id)
  for _,p in ipairs(mine(parts)) do gain(p[1],p[2]) aside(p[1],-p[2]) end
end
local function sweep()
  local over=ask('ZRANGEBYSCORE',U,'-inf',num(ms),'LIMIT',0,1000)
  if #over==0 then return end
  load()
  local all={}
  for i,id in ipairs(over) do
    local _,_,parts=opened(id)
    all[i]={id,parts or ''}
  end
  for _,x in ipairs(all) do give_back(x[1],x[2]) end
  n=nil
end
local function recorded()
  local v=ask('GET',Q)
  if not v then return end
  local by,state,q,parts,who,back=string.match(v,'^(%x+) (%a) (%d+) (%S+) (%S+) (%d+)$')
  if not by then broken('the record of the request is "'..v..'"') end
  if by==made then return {state=state,q=tonumber(q),parts=parts,who=who,back=tonumber(back)} end
end
local function record(state,q,parts,who,back,keep)
  redis.call('SET',Q,made..' '..state..' '..num(q)..' '..parts..' '..who..' '..num(back),'PX',keep)
end
local function token()
  local k=num(math.max((whole(ask('HGET',M,'token') or '0') or 0)+1,us))
  redis.call('HSET',M,'token',k)
  return k
end
local function again(id,q,owner,ttl,keep)
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
  if not who then return end
  if oq~=q then return {'reused',num(oq)} end
  if who~=owner then return {'progress'} end
  redis.call('ZADD',U,num(ms+ttl),id)
  return {'reserved',oparts,token()}
end
local function deduct(id,q,parts,text,owner,ttl,keep)
  if owner=='' then
    if not whole(ask('HGET',M,'taken')) then broken('it does not know what was taken') end
    for _,p in ipairs(parts) do change(p[1],-p[2]) end
    redis.call('HINCRBY',M,'taken',num(total(parts)))
    record('T',q,text,'-',0,keep)
    return {'taken',text}
  end
  load()
  for _,p in ipairs(parts) do change(p[1],-p[2]) aside(p[1],p[2]) end
  redis.call('HSET',O,id,owner..' '..num(q)..' '..text)
  redis.call('ZADD',U,num(ms+ttl),id)
  return {'reserved',text,token()}
end
local function move(parts)
  local p=split(parts)
  for _,x in ipairs(p) do
    local to=nearest(x[1])
    if x[1]%B==A and to~=x[1] then
      r[x[1]],x[1]=r[x[1]]-x[2],to
      r[to]=(r[to] or 0)+x[2]
    end
  end
  return join(p)..attempt_of(parts)
end
local function level(to,sum)
  load()
  local before,moved,r0=last,{},r
  sized(to)
  n,r={},r0
  if last<before then
    for _,id in ipairs(ask('HKEYS',O)) do
      local who,q,parts=opened(id)
      moved[#moved+1]={O,id,who..' '..num(q)..' '..move(parts)}
    end
    for _,a in ipairs(ask('HKEYS',G)) do
      local ends,parts,id=string.match(ask('HGET',G,a),'^(%d+) (%S+) (.*)$')
      moved[#moved+1]={G,a,ends..' '..move(parts)..' '..id}
    end
  end
  for _,x in ipairs(moved) do redis.call('HSET',x[1],x[2],x[3]) end
  for k=0,L-1 do
    local i=A+k*B
    put(i,math.floor(sum/L)+(k<sum%L and 1 or 0))
    redis.call('HSET',R,num(i),num(r[i] or 0))
  end
  for i=last+B,before,B do forget(i) redis.call('HDEL',R,num(i)) end
  redis.call('HSET',M,'segments',num(to))
  n=nil
end
local function body()
)";

// What the data are to blame for is {broken}; what the server refuses (OOM, READONLY, NOPERM) stays an error reply.
const char* const kEnd = R"(
end
local function main()
  local m=ask('HMGET',M,'made','segments')
  if not m[1] then return {'none'} end
  made=m[1]
  local s=whole(m[2])
  if not s or s<1 then broken('its number of segments is "'..tostring(m[2])..'"') end
  sized(s)
  return body()
end
local ok,answer=pcall(main)
if ok then return answer end
if type(answer)=='table' and answer.why then return {'broken',answer.why} end
local err=type(answer)=='table' and answer.err or tostring(answer)
err=string.match(err,'%-(%u+ .*)$') or err
if string.find(err,'user executing the script',1,true) then return redis.error_reply('NOPERM '..err) end
if string.match(err,'^%u+ ') and not string.match(err,'^ERR ') and not string.match(err,'^WRONGTYPE ') then
  return redis.error_reply(err)
end
return {'broken',err}
)";

}  // namespace

std::string script_text(const StockScript& script, StockCounters counters, int first, int step) {
  const char* keeps = counters == StockCounters::kHash ? kHash : counters == StockCounters::kPlain ? kPlain : kTair;
  const std::string head =
      "local A,B=" + std::to_string(first) + "," + std::to_string(step) + " " + std::string(kHead) + keeps;
  return script.of_stock ? head + kOfStock + script.body + kEnd : head + script.body;
}

// ARGV: maker, born or "" (the first slot), making or "", segments, created, quantity of each place... {made, born}
// {exists} {dropping}
const StockScript kStockCreate = {R"(
local m=redis.pcall('HMGET',M,'made','born','dropping')
if m.err then return {'broken',m.err} end
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
  return {'back',join(back),ask('HGET',W,id) or '-',made}
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
local text='-'
if #owed>0 then
  text='r '..join(owed)
  redis.call('HSET',W,id,text)
end
return {'back',join(back),text,made}
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
  return {'added',old.parts,ask('HGET',W,id) or '-',made}
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
local text='-'
if #owed>0 then
  text='a '..join(owed)
  redis.call('HSET',W,id,text)
end
return {'added',join(parts),text,made}
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
if m.err then return {'broken',m.err} end
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
