// SPDX-License-Identifier: Apache-2.0
// The scripts that only a stock in several slots needs: hold, confirm, cancel, and what moves between slots.
#include "backends/redis/stock/stock_scripts.h"

namespace dlock::redis {

// {ok}: every slot has its share. ARGV: made.
const StockScript kStockMade = {R"(
if ARGV[1]==made then redis.call('HDEL',M,'making') end
return {'ok'}
)"};

// {ok, made, born}
const StockScript kStockMarkDropping = {R"(
redis.call('HSET',M,'dropping','1')
return {'ok',made,ask('HGET',M,'born') or '0'}
)"};

// {token, k}
const StockScript kStockToken = {R"(
return {'token',token()}
)"};

// ARGV: id, quantity, keep ms, owner or "", ttl ms, attempt, parts, made. As kStockTake; {short, ...} also when the
// attempt was refused, or the stock is another one.
const StockScript kStockCommit = {R"(
local id,q,keep,owner,ttl=ARGV[1],whole(ARGV[2]),ARGV[3],ARGV[4],tonumber(ARGV[5])
if not q or q<1 then return {'invalid'} end
local old=again(id,q,owner,ttl,keep)
if old then return old end
load()
local here=mine(ARGV[7])
local fits=ARGV[8]==made and not ask('ZSCORE',F,ARGV[6])
for _,p in ipairs(here) do fits=fits and n[p[1]] and n[p[1]]>=p[2] end
if not fits then return {'short',num(sumN),num(sumR)} end
return deduct(id,q,here,ARGV[7]..'@'..ARGV[6],owner,ttl,keep)
)"};

// ARGV: id, attempt, keep ms. {committed} {open, ms} {refused}: from now on.
const StockScript kStockFate = {R"(
redis.call('HDEL',M,'')
sweep()
local attempt='@'..ARGV[2]
local old=recorded()
if old and attempt_of(old.parts)==attempt then return {'committed'} end
local _,_,parts=opened(ARGV[1])
if parts and attempt_of(parts)==attempt then return {'open',num(tonumber(ask('ZSCORE',U,ARGV[1]))-ms)} end
redis.call('ZREMRANGEBYSCORE',F,'-inf',num(ms))
redis.call('ZADD',F,num(ms+tonumber(ARGV[3])),ARGV[2])
return {'refused'}
)"};

// ARGV: made, id, attempt, parts, ttl ms. {held} {short}
const StockScript kStockHold = {R"(
if ARGV[1]~=made then return {'short'} end
if ask('HEXISTS',G,ARGV[3])==1 then return {'held'} end
sweep()
load()
local parts=mine(ARGV[4])
for _,p in ipairs(parts) do if not n[p[1]] or n[p[1]]<p[2] then return {'short'} end end
for _,p in ipairs(parts) do change(p[1],-p[2]) aside(p[1],p[2]) end
redis.call('HSET',G,ARGV[3],num(ms+tonumber(ARGV[5]))..' '..join(parts)..' '..ARGV[2])
return {'held'}
)"};

// ARGV: attempt, "confirm" or "cancel". {ok}
const StockScript kStockEndHold = {R"(
redis.call('HDEL',M,'')
local held=ask('HGET',G,ARGV[1])
if not held then return {'ok'} end
load()
local parts=mine(string.match(held,'^%d+ (%S+)'))
redis.call('HDEL',G,ARGV[1])
for _,p in ipairs(parts) do
  aside(p[1],-p[2])
  if ARGV[2]=='cancel' then gain(p[1],p[2]) end
end
if ARGV[2]=='confirm' then redis.call('HINCRBY',M,'taken',num(total(parts))) end
return {'ok'}
)"};

// ARGV: attempt, ttl ms. {ok}
const StockScript kStockExtendHold = {R"(
redis.call('HDEL',M,'')
local held=ask('HGET',G,ARGV[1])
if held then redis.call('HSET',G,ARGV[1],num(ms+tonumber(ARGV[2]))..string.match(held,'^%d+( .*)$')) end
return {'ok'}
)"};

// ARGV: made, "refunded" or "added", parts, keep ms. The record says that it was done. {ok}
const StockScript kStockDeliver = {R"(
if ARGV[1]~=made or ask('GET',Q)==made then return {'ok'} end
redis.call('HDEL',M,'')
load()
local parts=split(ARGV[3])
for _,p in ipairs(parts) do gain(nearest(p[1]),p[2]) end
redis.call('HINCRBY',M,ARGV[2],num(total(parts)))
redis.call('SET',Q,made,'PX',ARGV[4])
return {'ok'}
)"};

// ARGV: id. {ok}
const StockScript kStockDelivered = {R"(
redis.call('HDEL',W,ARGV[1])
return {'ok'}
)"};

// ARGV: made, epoch, plan. {ok} {not}
const StockScript kStockBeginLevelling = {R"(
local m=ask('HMGET',M,'epoch','levelling','still','making','dropping')
if ARGV[1]~=made or m[2] or m[4] or m[5] or tonumber(m[3] or 0)>ms then return {'not'} end
if tonumber(m[1] or 0)+1~=tonumber(ARGV[2]) then return {'not'} end
redis.call('HSET',M,'levelling',ARGV[3])
return {'ok'}
)"};

// ARGV: made, epoch, plan. {ok}
const StockScript kStockEndLevelling = {R"(
if ARGV[1]==made and ask('HGET',M,'levelling')==ARGV[3] then
  redis.call('HDEL',M,'levelling')
  redis.call('HSET',M,'epoch',ARGV[2])
end
return {'ok'}
)"};

// ARGV: ms. {ok}
const StockScript kStockKeepStill = {R"(
redis.call('HSET',M,'still',num(ms+tonumber(ARGV[1])))
return {'ok'}
)"};

// ARGV: made, epoch, segments, target. {out, given, left} {over}
const StockScript kStockPourOut = {R"(
local m=ask('HMGET',M,'moved','out','left')
local moved,epoch=tonumber(m[1] or 0),tonumber(ARGV[2])
if ARGV[1]~=made or moved>epoch then return {'over'} end
if moved==epoch then return {'out',m[2],m[3]} end
sweep()
load()
local left=math.min(sumN,tonumber(ARGV[4]))
local out=sumN-left
level(tonumber(ARGV[3]),left)
redis.call('HSET',M,'moved',num(epoch),'out',num(out),'left',num(left),'poured','0')
return {'out',num(out),num(left)}
)"};

// ARGV: made, epoch, quantity. {ok}
const StockScript kStockPourIn = {R"(
local m=ask('HMGET',M,'moved','poured')
if ARGV[1]~=made or tonumber(m[1] or 0)~=tonumber(ARGV[2]) or m[2]=='1' then return {'ok'} end
sweep()
load()
level(S,sumN+tonumber(ARGV[3]))
redis.call('HSET',M,'poured','1')
redis.call('HINCRBY',M,'gains','1')
return {'ok'}
)"};

}  // namespace dlock::redis
