# SPDX-License-Identifier: Apache-2.0
"""Redisson's synchronizers as a service uses them, for tests: each operation does to keys, fields, lives and channels what
Redisson's does, and a waiter subscribes, tries again, and sleeps until a message comes or the lease that it saw has ended.

    lock = Redisson(server, "fair", "order-import")      kind: lock fenced fair read write
    if lock.acquire(seconds): ...; lock.release()        seconds 0: tries once
    lock.refused                                         the server's error of the last attempt ("WRONGTYPE ..."), or empty
"""
import os
import time
import uuid

import redis

TRY_LOCK = """
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  return redis.call('PTTL', KEYS[1])
end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
if KEYS[2] then redis.call('INCR', KEYS[2]) end
return nil"""
UNLOCK = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], 30000)
  return 0
end
redis.call('DEL', KEYS[1])
if KEYS[2] then redis.call('PUBLISH', KEYS[2], '0') end
return 1"""
RENEW = """
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])"""
FORCE = """
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1"""

# KEYS: lock, queue, ends. ARGV: lease, owner, wait, now
FAIR_CLEAN = """
local function clean(now)
  while true do
    local head = redis.call('LINDEX', KEYS[2], 0)
    local score = head and redis.call('ZSCORE', KEYS[3], head)
    if not head or score and tonumber(score) > tonumber(now) then return end
    redis.call('LPOP', KEYS[2])
    redis.call('ZREM', KEYS[3], head)
  end
end
"""
TRY_FAIR = FAIR_CLEAN + """
clean(ARGV[4])
local head = redis.call('LINDEX', KEYS[2], 0)
if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[2]) then
  if head then
    redis.call('LPOP', KEYS[2])
    redis.call('ZREM', KEYS[3], ARGV[2])
    for _, one in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do redis.call('ZINCRBY', KEYS[3], -ARGV[3], one) end
  end
  redis.call('HSET', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return nil
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return nil
end
local rest = redis.call('PTTL', KEYS[1])
if redis.call('ZSCORE', KEYS[3], ARGV[2]) then return math.max(rest, 0) end
local last = redis.call('LINDEX', KEYS[2], -1)
local base = last and redis.call('ZSCORE', KEYS[3], last) - ARGV[4] or rest
if ARGV[5] == '1' then
  redis.call('ZADD', KEYS[3], base + ARGV[3] + ARGV[4], ARGV[2])
  redis.call('RPUSH', KEYS[2], ARGV[2])
end
return base"""
UNLOCK_FAIR = FAIR_CLEAN + """
clean(ARGV[2])
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then return 0 end
redis.call('DEL', KEYS[1])
local head = redis.call('LINDEX', KEYS[2], 0)
if head then redis.call('PUBLISH', KEYS[4] .. ':' .. head, '0') end
return 1"""
GIVE_UP_FAIR = """
local at
for i, one in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if at then redis.call('ZINCRBY', KEYS[3], -ARGV[2], one) end
  if one == ARGV[1] then at = i end
end
redis.call('LREM', KEYS[2], 0, ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])"""

# KEYS: lock. ARGV: lease, owner, stem
TRY_READ = """
local mode = redis.call('HGET', KEYS[1], 'mode')
if mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[2] .. ':write') == 0 then
  return redis.call('PTTL', KEYS[1])
end
if not mode then redis.call('HSET', KEYS[1], 'mode', 'read') end
local number = redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('SET', ARGV[3] .. ':' .. ARGV[2] .. ':rwlock_timeout:' .. number, 1, 'PX', ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[1]))
return nil"""
UNLOCK_READ = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
local function read(owner, number) return ARGV[2] .. ':' .. owner .. ':rwlock_timeout:' .. number end
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if count == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('DEL', read(ARGV[1], count + 1))
local rest = -1
for _, owner in ipairs(redis.call('HKEYS', KEYS[1])) do
  for number = 1, tonumber(redis.call('HGET', KEYS[1], owner)) or 0 do
    rest = math.max(rest, redis.call('PTTL', read(owner, number)))
  end
end
if rest > 0 then
  redis.call('PEXPIRE', KEYS[1], rest)
  return 0
end
if redis.call('HGET', KEYS[1], 'mode') == 'write' then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
return 1"""
TRY_WRITE = """
local mode = redis.call('HGET', KEYS[1], 'mode')
if mode and (mode == 'read' or redis.call('HEXISTS', KEYS[1], ARGV[2] .. ':write') == 0) then
  return redis.call('PTTL', KEYS[1])
end
if not mode then redis.call('HSET', KEYS[1], 'mode', 'write') end
redis.call('HINCRBY', KEYS[1], ARGV[2] .. ':write', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return nil"""
UNLOCK_WRITE = """
local owner = ARGV[1] .. ':write'
if redis.call('HEXISTS', KEYS[1], owner) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], owner, -1) > 0 then return 0 end
redis.call('HDEL', KEYS[1], owner)
if redis.call('HLEN', KEYS[1]) > 1 then
  redis.call('HSET', KEYS[1], 'mode', 'read')
  return 1
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '1')
return 1"""

def now():
    return int(time.time() * 1000)


class Redisson:
    def __init__(self, server, kind, name, lease=30000, wait=300000, thread=1):
        self.server, self.kind, self.name, self.lease, self.wait = server, kind, name, lease, wait
        self.owner = f"{uuid.uuid4()}:{thread}"
        self.stem = name if "{" in name else "{" + name + "}"
        family = "rwlock:" if kind in ("read", "write") else "lock__channel:"
        self.channel = "redisson_" + family + self.stem
        self.refused = ""

    def run(self, script, keys, *arguments):
        return self.server.eval(script, len(keys), *keys, *arguments)

    def fair_keys(self):
        return [self.name, "redisson_lock_queue:" + self.stem, "redisson_lock_timeout:" + self.stem, self.channel]

    def attempt(self, queues=False):
        """None: ours. Else ms until it may be worth another attempt, below 0: unknown."""
        if self.kind == "fair":
            return self.run(TRY_FAIR, self.fair_keys(), self.lease, self.owner, self.wait, now(), 1 if queues else 0)
        if self.kind == "read":
            return self.run(TRY_READ, [self.name], self.lease, self.owner, self.stem)
        if self.kind == "write":
            return self.run(TRY_WRITE, [self.name], self.lease, self.owner)
        counter = ["redisson_lock_token:" + self.stem] if self.kind == "fenced" else []
        return self.run(TRY_LOCK, [self.name] + counter, self.lease, self.owner)

    def acquire(self, seconds=0.0):
        end, self.refused = time.monotonic() + seconds, ""
        try:
            rest = self.attempt(seconds > 0)
        except redis.exceptions.ResponseError as error:
            self.refused = str(error)
            return False
        if rest is None or seconds == 0:
            return rest is None
        own = self.channel + (f":{self.owner}" if self.kind == "fair" else "")
        messages = self.server.pubsub(ignore_subscribe_messages=False)
        messages.subscribe(own)
        messages.get_message(timeout=5)  # confirmed
        try:
            while (rest := self.attempt(True)) is not None:
                left = end - time.monotonic()
                if left <= 0:
                    if self.kind == "fair":
                        self.run(GIVE_UP_FAIR, self.fair_keys()[:3], self.owner, self.wait)
                    return False
                pause = rest / 1000 if rest >= 0 else left
                messages.get_message(timeout=max(min(pause, left), 0.001))
            return True
        finally:
            messages.close()

    def release(self):
        """1 the last hold, 0 another one, None: it was not ours."""
        if self.kind == "fair":
            return self.run(UNLOCK_FAIR, self.fair_keys(), self.owner, now())
        if self.kind == "read":
            return self.run(UNLOCK_READ, [self.name, self.channel], self.owner, self.stem)
        if self.kind == "write":
            return self.run(UNLOCK_WRITE, [self.name, self.channel], self.owner)
        return self.run(UNLOCK, [self.name, self.channel], self.owner)

    def renew(self):
        return self.run(RENEW, [self.name], self.lease, self.owner)

    def force(self):
        return self.run(FORCE, [self.name, self.channel], 1 if self.kind == "write" else 0)
