// SPDX-License-Identifier: Apache-2.0
// What scripts of a stock are made of; the scripts: stock_scripts.cpp, stock_slot_scripts.cpp.
#include "backends/redis/stock/stock_scripts.h"

#include <span>
#include <string_view>

namespace dlock::redis {
namespace {

/// A function, and what it is called; or what everything needs.
struct Piece {
  std::string_view name;
  const char* text;
};

// ask(): a read; what it cannot read ends the script.
constexpr Piece kHead[] = {
    {"", R"(local M,N,R,O,U,Q,G,W,F=unpack(KEYS))"},
    {"num", R"(local function num(n) return string.format('%.0f',n) end)"},
    {"broken", R"(local function broken(why) error({why=why}) end)"},
    {"ask", R"(local function ask(...)
  local a=redis.pcall(...)
  if type(a)=='table' and a.err then error(a) end
  return a
end)"},
    {"whole", R"(local function whole(v)
  local n=v and string.match(v,'^%d+$') and tonumber(v)
  if n and n<=9007199254740992 then return n end
end)"},
};

// What keeps quantities: read one or several (false: none), change, set, remove.
constexpr Piece kHash[] = {
    {"counts", R"(local function counts(f) return ask('HMGET',N,unpack(f)) end)"},
    {"count", R"(local function count(i) return ask('HGET',N,num(i)) end)"},
    {"change", R"(local function change(i,d) redis.call('HINCRBY',N,num(i),num(d)) end)"},
    {"put", R"(local function put(i,v) redis.call('HSET',N,num(i),num(v)) end)"},
    {"forget", R"(local function forget(i) redis.call('HDEL',N,num(i)) end)"},
};
constexpr Piece kPlain[] = {
    {"at", R"(local function at(i) return N..':'..num(i) end)"},
    {"counts", R"(local function counts(f)
  local k={}
  for i,x in ipairs(f) do k[i]=N..':'..x end
  return ask('MGET',unpack(k))
end)"},
    {"count", R"(local function count(i) return ask('GET',at(i)) end)"},
    {"change", R"(local function change(i,d)
  if d<0 then redis.call('DECRBY',at(i),num(-d)) else redis.call('INCRBY',at(i),num(d)) end
end)"},
    {"put", R"(local function put(i,v) redis.call('SET',at(i),num(v)) end)"},
    {"forget", R"(local function forget(i) redis.call('DEL',at(i)) end)"},
};
constexpr Piece kTair[] = {
    {"at", R"(local function at(i) return N..':'..num(i) end)"},
    {"count", R"(local function count(i)
  local v=ask('EXGET',at(i))
  return v and v[1]
end)"},
    {"counts", R"(local function counts(f)
  local c={}
  for i,x in ipairs(f) do c[i]=count(x) end
  return c
end)"},
    {"change", R"(local function change(i,d) redis.call('EXINCRBY',at(i),num(d),'MIN',0) end)"},
    {"put", R"(local function put(i,v) redis.call('EXSET',at(i),num(v)) end)"},
    {"forget", R"(local function forget(i) redis.call('DEL',at(i)) end)"},
};

// load(): n, r (quantity, reserved by place) and their sums. S: how many segments; the places A, A+B ... last, L of
// them. sweep(): gives back what has expired.
constexpr Piece kOfStock[] = {
    {"", R"(local t=redis.call('TIME')
local us=t[1]*1000000+t[2]
local ms=math.floor(us/1000)
local made,S,last,L
local n,r,sumN,sumR)"},
    {"sized", R"(local function sized(s)
  S,last=s,A
  if s>A then last=A+math.floor((s-1-A)/B)*B end
  L=(last-A)/B+1
  n=nil
end)"},
    {"place", R"(local function place(k) return A+(k%L)*B end)"},
    {"nearest", R"(local function nearest(p)
  if p%B==A and p<=last then return p end
  return place(math.floor(p/B))
end)"},
    {"load", R"(local function load()
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
end)"},
    {"split", R"(local function split(text)
  local p={}
  for s,q in string.gmatch(text,'(%d+):(%d+)') do p[#p+1]={tonumber(s),tonumber(q)} end
  return p
end)"},
    {"mine", R"(local function mine(text)
  local p={}
  for _,x in ipairs(split(text)) do if x[1]%B==A then p[#p+1]=x end end
  return p
end)"},
    {"join", R"(local function join(p)
  local w={}
  for i,x in ipairs(p) do w[i]=num(x[1])..':'..num(x[2]) end
  return #w>0 and table.concat(w,',') or '-'
end)"},
    {"attempt_of", R"(local function attempt_of(parts) return string.match(parts,'@.*$') or '' end)"},
    {"total", R"(local function total(p)
  local sum=0
  for _,x in ipairs(p) do sum=sum+x[2] end
  return sum
end)"},
    {"gain", R"(local function gain(i,q)
  change(i,q)
  if B>1 then redis.call('HINCRBY',M,'gains','1') end
end)"},
    {"aside", R"(local function aside(i,d) redis.call('HINCRBY',R,num(i),num(d)) end)"},
    {"opened", R"(local function opened(id)
  local o=ask('HGET',O,id)
  if not o then return end
  local who,q,p=string.match(o,'^(%x+) (%d+) (%S+)$')
  if not who then broken('the reservation of '..id..' is "'..o..'"') end
  return who,tonumber(q),p
end)"},
    {"give_back", R"(local function give_back(id,parts)
  redis.call('ZREM',U,id) redis.call('HDEL',O,id)
  for _,p in ipairs(mine(parts)) do gain(p[1],p[2]) aside(p[1],-p[2]) end
end)"},
    {"sweep", R"(local function sweep()
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
end)"},
    {"recorded", R"(local function recorded()
  local v=ask('GET',Q)
  if not v then return end
  local by,state,q,parts,who,back=string.match(v,'^(%x+) (%a) (%d+) (%S+) (%S+) (%d+)$')
  if not by then broken('the record of the request is "'..v..'"') end
  if by==made then return {state=state,q=tonumber(q),parts=parts,who=who,back=tonumber(back)} end
end)"},
    {"record", R"(local function record(state,q,parts,who,back,keep)
  redis.call('SET',Q,made..' '..state..' '..num(q)..' '..parts..' '..who..' '..num(back),'PX',keep)
end)"},
    {"token", R"(local function token()
  local k=num(math.max((whole(ask('HGET',M,'token') or '0') or 0)+1,us))
  redis.call('HSET',M,'token',k)
  return k
end)"},
    {"owes", R"(local function owes(id,book,parts)
  if not book then return ask('HGET',W,id) or '-' end
  if #parts==0 then return '-' end
  redis.call('HSET',W,id,book..join(parts))
  return book..join(parts)
end)"},
    {"again", R"(local function again(id,q,owner,ttl,keep)
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
end)"},
    {"deduct", R"(local function deduct(id,q,parts,text,owner,ttl,keep)
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
end)"},
    {"move", R"(local function move(parts)
  local p=split(parts)
  for _,x in ipairs(p) do
    local to=nearest(x[1])
    if x[1]%B==A and to~=x[1] then
      r[x[1]],x[1]=r[x[1]]-x[2],to
      r[to]=(r[to] or 0)+x[2]
    end
  end
  return join(p)..attempt_of(parts)
end)"},
    {"level", R"(local function level(to,sum)
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
end)"},
};

// A body returns the answer. What the data are to blame for is {broken}; what the server refuses by a word of its own
// (OOM, READONLY) stays an error reply; any other error is {failed}.
const char* const kEnd = R"( end
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
if string.match(err,'^%u+ ') and not string.match(err,'^ERR ') and not string.match(err,'^WRONGTYPE ') then
  return redis.error_reply(err)
end
return {'failed',err}
)";

/// Those that `text` needs, and those that they need.
void prepend(std::span<const Piece> pieces, std::string& text) {
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (text.find(std::string(piece->name) + "(") != std::string::npos) text = std::string(piece->text) + " " + text;
  }
}

/// The server hashes all of it each time.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n' && c != ' ') line += c;
    else if (!line.empty() && line.back() != ' ') line += ' ';
  }
  return line;
}

}  // namespace

std::string script_text(const StockScript& script, StockCounters counters, int first, int step) {
  std::string text = script.of_stock ? "local function body() " + std::string(script.body) + kEnd : script.body;
  if (script.of_stock) prepend(kOfStock, text);
  if (counters == StockCounters::kHash) prepend(kHash, text);
  if (counters == StockCounters::kPlain) prepend(kPlain, text);
  if (counters == StockCounters::kTair) prepend(kTair, text);
  prepend(kHead, text);
  return on_one_line("local A,B=" + std::to_string(first) + "," + std::to_string(step) + " " + text);
}

}  // namespace dlock::redis
