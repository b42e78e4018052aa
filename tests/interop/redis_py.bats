# SPDX-License-Identifier: Apache-2.0
# redis-py's Lock (Debian's python3-redis) and dlock on one key: each excludes the other, waits for it, outlives its
# crash. And redsync, by the commands that it sends.
load ../support/cli
load ../support/redis
load ../support/peers

setup() { set_world_of_peers; }
teardown() { end_world; }

@test "dlock holds: redis-py sees it locked, is refused, and its release of a lock that it has not is refused" {
  python_peer peer <<'CODE'
lock = server.lock("k", timeout=5)
say(lock.locked(), lock.acquire(blocking=False), lock.acquire(blocking_timeout=0.25))
lock.local.token = b"not mine"
try: lock.release()
except redis.exceptions.LockNotOwnedError: say("not owned")
try:
    lock.local.token = b"not mine"
    lock.extend(10)
except redis.exceptions.LockNotOwnedError: say("not owned")
CODE
  hold_lock k
  run -0 peer
  [ "$output" = $'True False False\nnot owned\nnot owned' ]
  let_go
}

@test "redis-py holds: dlock is refused with 75, says by whom, and changes nothing" {
  python_peer peer <<'CODE'
lock = server.lock("k", timeout=60)
lock.acquire(token="my-token")
CODE
  peer
  run -75 dlock run -n k -- touch ran
  [ ! -e ran ]
  [ "$(redis_cli one get k)" = my-token ]
  [ "$(redis_cli one pttl k)" -gt 50000 ]
  run -0 dlock inspect --json k
  [[ "$output" == *my-token* ]]
  run dlock release k --owner my-other-token
  [ "$status" != 0 ]
  [ "$(redis_cli one get k)" = my-token ]
}

# bats test_tags=all
@test "redis-py waits for dlock: it has the lock one poll after dlock's release" {
  python_peer peer <<'CODE'
lock = server.lock("k", timeout=5)
lock.acquire()
hold(0.05)
lock.release()
CODE
  start_watched a dlock run k -- section --for 5 # until the interpreter is up and polls, every 100 ms
  wait_until begun 1
  run -0 peer
  history check --sections 2
  gap_below 500
}

@test "dlock waits for redis-py: it is woken by the release, without polling" {
  python_peer peer <<'CODE'
lock = server.lock("k", timeout=30)
lock.acquire()
hold(4)
lock.release()
CODE
  start peer
  wait_until begun 1
  start_watched a dlock run -q k -- section
  wait_until has 1 waiters k
  local before after
  before=$(redis_cli one info stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p')
  sleep 0.5
  after=$(redis_cli one info stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p')
  echo "$((after - before)) commands in half a second"
  [ $((after - before)) -le 6 ]
  [ "$(how_ended a)" = "exit 0" ]
  history check --sections 2
  gap_below 400
}

# bats test_tags=all
@test "redis-py extends while dlock waits: dlock goes on waiting, and gets it after the release" {
  python_peer peer <<'CODE'
lock = server.lock("k", timeout=0.6)
lock.acquire()
section += 1
act("BEGIN -")
for _ in range(5):
    time.sleep(0.3)
    lock.reacquire()
    lock.extend(0.1)
act("END")
lock.release()
CODE
  start peer
  wait_until begun 1
  run -0 dlock run -q -w 10 k -- section
  history check --sections 2
  gap_below 400
}

@test "redis-py dies with the lock: dlock has it when its time is over" {
  python_peer peer <<'CODE'
server.lock("k", timeout=1.5).acquire()
hold(0)
os.kill(os.getpid(), 9)
CODE
  peer || true
  run -75 dlock run -q -n k -- true
  run -0 dlock run -q -w 10 k -- section
  history check --sections 2
  gap_below 2300
}

# bats test_tags=all
@test "dlock and its keeper die with the lock: redis-py has it when the lease ends" {
  python_peer peer <<'CODE'
say(server.lock("k", timeout=5).acquire(blocking_timeout=10))
CODE
  start_watched a dlock run --ttl 2s k -- section --for 30
  wait_until begun 1
  kill -KILL "$(cat a.pid)" "$(pgrep -P "$(cat a.pid)" -x dlock-redis)"
  run -0 peer
  [ "$output" = True ]
}

# bats test_tags=all
@test "a redis-py lock without a timeout: dlock waits as long as it is told, and is served after the release" {
  redis_cli one set k for-ever nx
  run -75 dlock run -q -w 0.5 k -- true
  start_watched a dlock run -q k -- true
  sleep 0.3
  redis_cli one del k
  [ "$(how_ended a)" = "exit 0" ]
}

@test "dlock force-release frees redis-py's lock; its late release leaves dlock's lock alone" {
  python_peer peer <<'CODE'
lock = server.lock("k", timeout=30)
lock.acquire()
say("held")
while not os.path.exists("go"): time.sleep(0.02)
try: lock.release()
except redis.exceptions.LockNotOwnedError: say("not owned")
CODE
  start peer >peer.out
  wait_until filled peer.out
  run -0 dlock force-release --yes k
  hold_lock k
  touch go
  wait_until lines_in peer.out 2
  [ "$(tail -n 1 peer.out)" = "not owned" ]
  run -75 dlock run -q -n k -- true
  let_go
}

# bats test_tags=all
@test "the fencing token grows across redis-py's holds, its deletion of the key, and a flush of the whole server" {
  python_peer peer <<'CODE'
lock = server.lock("k", timeout=5)
lock.acquire()
lock.release()
CODE
  script_token() { dlock run -q k -- sh -c 'echo $DLOCK_TOKEN'; }
  local one two three
  one=$(script_token)
  peer
  two=$(script_token)
  redis_cli one flushall
  three=$(script_token)
  echo "$one $two $three"
  [ "$one" -lt "$two" ]
  [ "$two" -lt "$three" ]
}

# bats test_tags=all
@test "readers and permits of dlock hold redis-py off too" {
  python_peer peer <<'CODE'
say(server.lock("k", timeout=5).acquire(blocking=False), server.lock("p", timeout=5).acquire(blocking=False))
CODE
  run -0 dlock run -s k -- dlock run --permits 2 p -- peer
  [ "$output" = "False False" ]
  run -0 peer
  [ "$output" = "True True" ]
}

@test "another family's lock (a hash) under the key: busy, and it is never touched" {
  redis_cli one hset k 11111111-2222-3333-4444-555555555555:7 1
  redis_cli one pexpire k 1500
  run -75 dlock run -n k -- true
  run -75 dlock run -q -w 0.3 k -- true
  [ "$(redis_cli one type k)" = hash ]
  run -0 dlock run -q -w 10 k -- true
}

# bats test_tags=all
@test "keys with spaces, braces and every letter are the same key to both" {
  python_peer peer <<'CODE'
for key in ["a b", "{a}b", "a{", "ключ", "k:owner", "x/y"]:
    say(server.lock(key, timeout=5).locked())
CODE
  run -0 dlock run 'a b' '{a}b' 'a{' 'ключ' k:owner x/y -- peer
  [ "$(sort -u <<<"$output")" = True ]
}

# bats test_tags=all
@test "waiting works where CLIENT TRACKING is refused" {
  redis_cli one acl setuser default '-client|tracking'
  [[ "$(redis_cli one client tracking on 2>&1)" == NOPERM* ]]
  redis_cli one acl log reset
  redis_cli one set k theirs px 60000 # no expiry that could end the wait
  start_watched a dlock run -q k -- section
  wait_until has 1 waiters k
  redis_cli one del k
  [ "$(how_ended a)" = "exit 0" ]
  [ -s history ]
  # The server has refused it to dlock as well.
  redis_cli one acl log >refused
  grep -qx 'client|tracking' refused
  grep -q ' name=dlock ' refused
}

# --- redsync ---------------------------------------------------------------------------------------------------------

# The same effect as its release and extend scripts, in our own words: 1, or 0 if the value is another one.
redsync_release() { redis_cli one eval "if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end; return redis.call('DEL',KEYS[1])" 1 "$@"; }
redsync_extend() { redis_cli one eval "if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end; return redis.call('PEXPIRE',KEYS[1],ARGV[2])" 1 "$@"; }

@test "redsync holds: dlock waits through its extension, and is served after its release" {
  [ "$(redis_cli one set k q1w2e3r4t5y6u7i8o9p0aA== NX PX 8000)" = OK ]
  run -75 dlock run -q -n k -- true
  start_watched a dlock run -q k -- section
  wait_until has 1 waiters k
  [ "$(redsync_extend k q1w2e3r4t5y6u7i8o9p0aA== 8000)" = 1 ]
  sleep 1
  [ ! -e history ]
  [ "$(redsync_release k q1w2e3r4t5y6u7i8o9p0aA==)" = 1 ]
  [ "$(how_ended a)" = "exit 0" ]
}

@test "dlock holds: redsync is refused in all it does" {
  hold_lock k
  [ "$(redis_cli one set k q1w2e3r4t5y6u7i8o9p0aA== NX EX 8)" = "" ]
  [ "$(redsync_extend k q1w2e3r4t5y6u7i8o9p0aA== 8000)" = 0 ]
  [ "$(redsync_release k q1w2e3r4t5y6u7i8o9p0aA==)" = 0 ]
  run -75 dlock run -q -n k -- true
  let_go
}

# --- what redis-py sends, word for word ------------------------------------------------------------------------------

# bats test_tags=all
@test "redis-py's scripts by their hashes change nothing of a lock of dlock's, and dlock nothing of theirs" {
  python_peer load_scripts <<'CODE'
from redis.lock import Lock
for script in (Lock.LUA_EXTEND_SCRIPT, Lock.LUA_REACQUIRE_SCRIPT, Lock.LUA_RELEASE_SCRIPT): say(server.script_load(script))
CODE
  local extend=a4e8783852e6b949f9ef3a97212805108459a890 reacquire=1cac51482acf5858da00f6d685d68f886cd6b6b2 \
    release=c3f8721cbb97f72bc19e972846bd7aaf91901658 token=5b27195a00000000000000000000abcd
  run -0 load_scripts
  [ "$output" = "$extend"$'\n'"$reacquire"$'\n'"$release" ]
  hold_lock k
  [ "$(redis_cli one set k $token PX 10000 NX)" = "" ]
  [ "$(redis_cli one evalsha $extend 1 k $token 5000 0)" = 0 ]
  [ "$(redis_cli one evalsha $reacquire 1 k $token 10000)" = 0 ]
  [ "$(redis_cli one evalsha $release 1 k $token)" = 0 ]
  [ "$(redis_cli one get k)" = "$holder_owner" ]
  let_go

  [ "$(redis_cli one set k $token PX 10000 NX)" = OK ]
  run -75 dlock run -q -n k -- true
  [ "$(redis_cli one evalsha $extend 1 k $token 5000 0)" = 1 ]
  [ "$(redis_cli one pttl k)" -gt 12000 ]
  start_watched a dlock run -q k -- true
  wait_until has 1 waiters k
  [ "$(redis_cli one evalsha $reacquire 1 k $token 10000)" = 1 ]
  [ "$(redis_cli one pttl k)" -gt 8000 ]
  [ "$(redis_cli one evalsha $release 1 k $token)" = 1 ]
  [ "$(how_ended a)" = "exit 0" ]
}

# bats test_tags=all
@test "a token of text is shown as it is, one of bytes in hex" {
  redis_cli one set text my-token
  printf 'SET bytes "\\xff\\x00\\x01" PX 600000\n' | redis_cli one >&2
  [ "$(holder_field text owner)" = my-token ]
  [ "$(holder_field bytes owner)" = 0xff0001 ]
}
