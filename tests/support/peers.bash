# SPDX-License-Identifier: Apache-2.0
# Foreign clients that lock, for tests/interop: each is a few lines of Python or JavaScript that a test gives on stdin.
# They find the server's port in $PORT; hold(), act(WHAT) and say(TEXT) write what happened. Redisson is node-redisson in
# JavaScript, and redisson_peer.py in Python.

export NODE_PATH=$root/build/interop/node_modules PEERS=$support

# A world with one Redis server, which is the backend of dlock and the server of the peers.
set_world_of_peers() {
  set_world
  script_section
  start_redis one
  PORT=$(port_of one) DLOCK_BACKEND=$(redis_url one)
  export PORT DLOCK_BACKEND
}

# python_peer NAME < CODE and node_peer NAME < CODE: make the program NAME; run it, or start it with `start`.
python_peer() {
  { cat <<'CODE'; cat; } >"$1.py"
import os, sys, time
import redis
sys.path.insert(0, os.environ["PEERS"])
from redisson_peer import Redisson
server = redis.Redis(port=int(os.environ["PORT"]))
section = 0
def say(*words): print(*words, flush=True)
def act(what):
    with open("history", "a", buffering=1) as file:
        file.write(f"{time.clock_gettime_ns(time.CLOCK_MONOTONIC)} py{os.getpid()}.{section} {what}\n")
def hold(seconds):
    global section
    section += 1
    act("BEGIN -")
    time.sleep(seconds)
    act("END")
CODE
  script "$1" <<CODE
#!/bin/sh
exec /usr/bin/python3 -E -B "$PWD/$1.py" "\$@"
CODE
}

node_peer() {
  [ -d "$NODE_PATH/node-redisson" ] || skip "no node clients: scripts/check interop installs them"
  { cat <<'CODE'; cat; echo '})().catch((error) => { say(`failed: ${error}`); process.exit(1); }).finally(() => clients.forEach((client) => client.disconnect()));'; } >"$1.js"
const fs = require('fs');
const Redis = require('ioredis');
const Redlock4 = require('redlock');
const Redlock5 = require('redlock5').default;
const {Redisson} = require('node-redisson');
const clients = process.env.PORT.split(' ').map((port) => new Redis(+port, '127.0.0.1'));
const say = (...words) => fs.writeSync(1, words.join(' ') + '\n');
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
// The two generations with the same words: take(key, ms, retries), extend(lock, ms), give(lock).
const redlock = (generation, options = {}) => {
  const it = new (generation === 4 ? Redlock4 : Redlock5)(clients, {retryCount: -1, ...options});
  it.on(generation === 4 ? 'clientError' : 'error', () => {});
  return {
    take: (key, ms) => generation === 4 ? it.lock(key, ms) : it.acquire([].concat(key), ms),
    extend: (lock, ms) => lock.extend(ms),
    give: (lock) => generation === 4 ? lock.unlock() : lock.release(),
  };
};
// lock(), tryLock(ms, lease in ms or true), unlock(), forceUnlock(), as the library has them.
const redisson = (key) => {
  const it = new Redisson({redis: {options: {host: '127.0.0.1', port: +process.env.PORT}}});
  clients.push({disconnect: () => process.exit()}); // its timers would fail without connections
  const lock = it.getLock(key);
  return {
    lock: () => lock.lock(),
    tryLock: (ms, lease = true) => lock.tryLock(BigInt(ms), lease === true ? true : BigInt(lease)),
    unlock: () => lock.unlock().then(() => 'unlocked', (error) => error.constructor.name),
    forceUnlock: () => lock.forceUnlock(),
  };
};
let section = 0;
const act = (what) => fs.writeFileSync('history', `${process.hrtime.bigint()} node${process.pid}.${section} ${what}\n`, {flag: 'a'});
const hold = async (ms) => { section++; act('BEGIN -'); await pause(ms); act('END'); };
(async () => {
CODE
  script "$1" <<CODE
#!/bin/sh
exec node "$PWD/$1.js" "\$@"
CODE
}
