# SPDX-License-Identifier: Apache-2.0
# Redisson's locks and dlock on one key: node-redisson, which has the reentrant lock; all the other kinds by a client that
# does what Redisson does (support/redisson_peer.py).
load ../support/cli
load ../support/redis
load ../support/peers

setup() { set_world_of_peers; server=$DLOCK_BACKEND; }
teardown() { end_world; }

# as KIND: dlock's side of a kind of the peer. `words` is what dlock run wants besides.
as() {
  words=()
  case $1 in
    read) use "$server?layout=redisson&kind=rw"; words=(-s) ;;
    write) use "$server?layout=redisson&kind=rw" ;;
    *) use "$server?layout=redisson&kind=$1" ;;
  esac
}
hears() { [ "$(redis_cli one pubsub channels "redisson_*{k}*" | wc -l)" -gt 0 ]; } # somebody waits for the lock k

# --- node-redisson -----------------------------------------------------------------------------------------------------

@test "node-redisson holds twice: dlock is refused, says who, changes nothing, and is woken by the last unlock" {
  as lock
  node_peer peer <<'CODE'
const lock = redisson('k');
await lock.lock();
await lock.lock();
section++;
act('BEGIN -');
while (!fs.existsSync('go')) await pause(10);
await lock.unlock();
await pause(300);
act('END');
await lock.unlock();
CODE
  start peer
  wait_until begun 1
  run -75 dlock run -n k -- touch ran
  [[ "$output" == *"$(redis_cli one hkeys k)"* ]]
  [ "$(holder_field k count)" = 2 ]
  [ "$(redis_cli one hvals k)" = 2 ]
  [ "$(redis_cli one pttl k)" -gt 25000 ]
  run -75 env DLOCK_BACKEND="$server" dlock run -n k -- touch ran
  [[ "$output" == *layout=redisson* ]]
  start_watched a dlock run -q k -- section
  wait_until hears
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  history check --sections 2
  gap_below 100
  [ ! -e ran ]
}

@test "dlock holds: node-redisson is refused, waits, and is woken by the release" {
  as lock
  node_peer peer <<'CODE'
const lock = redisson('k');
say(await lock.tryLock(0), await lock.unlock());
await lock.lock();
await hold(20);
say(await lock.unlock());
CODE
  start_watched a dlock run k -- section --for $((1 + slowness)) # until the peer is up
  wait_until begun 1
  run -0 peer
  [ "$output" = $'false RedissonLockError\nunlocked' ]
  history check --sections 2
  gap_below 100
}

@test "node-redisson dies with the lock: dlock has it when its time is over; dlock dies: node-redisson has it" {
  as lock
  node_peer peer <<'CODE'
await redisson('k').tryLock(0, 1500);
await hold(0);
process.kill(process.pid, 'SIGKILL');
CODE
  node_peer next <<'CODE'
await redisson('k').lock();
await hold(0);
CODE
  peer || true
  run -75 dlock run -q -n k -- true
  run -0 dlock run -q -w 10 k -- section
  gap_below 1700
  start_watched a dlock run --ttl 2s k -- section --for 30
  wait_until begun 3
  kill -KILL "$(pid_of a)" "$(keeper_of a)"
  run -0 next
  history check --sections 4
}

@test "by force: node-redisson's ends dlock's command (79); dlock's frees node-redisson's, whose unlock leaves ours alone" {
  as lock
  node_peer forces <<'CODE'
say(await redisson('k').forceUnlock());
CODE
  node_peer peer <<'CODE'
const lock = redisson('k');
await lock.lock();
say('held');
while (!fs.existsSync('go')) await pause(10);
say(await lock.unlock());
CODE
  start_watched a dlock run --ttl 20s --kill-after 1s k -- section --for 30
  wait_until begun 1
  run -0 forces
  [ "$output" = true ]
  [ "$(how_ended a)" = "exit 79" ]
  start peer >peer.out
  wait_until filled peer.out
  run -0 dlock force-release --yes --reason hangs k
  hold_lock k
  touch go
  wait_until lines_in peer.out 2
  [ "$(tail -n 1 peer.out)" = RedissonLockError ]
  run -75 dlock run -q -n k -- true
  let_go
}

# --- every kind, both ways ---------------------------------------------------------------------------------------------

# Redisson's client holds, dlock is refused, waits and is woken; then dlock holds, and the client is refused, waits, is
# woken. One message each way, not the end of a lease, which is 30 s away.
both_ways() { # KIND OF-DLOCK
  as "$2"
  python_peer peer <<CODE
lock, other = Redisson(server, "$1", "k"), Redisson(server, "$1", "k")
def wait(there):
    while not there(): time.sleep(0.01)
def begun(n): return sum(" BEGIN" in line for line in open("history")) >= n
lock.acquire(10) or sys.exit("not free")
section = 1
act("BEGIN -")
wait(lambda: os.path.exists("go"))
act("END")
say(lock.release())
wait(lambda: begun(2))
say(other.acquire(), other.refused)
lock.acquire(20) or sys.exit("not woken")
hold(0.01)
say(lock.release())
CODE
  start peer >peer.out
  wait_until begun 1
  run -75 dlock run -q -n "${words[@]}" k -- true
  start_watched a dlock run -q --ttl 30s "${words[@]}" k -- section --for 1
  wait_until hears
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  wait_until lines_in peer.out 3
  [ "$(cat peer.out)" = $'1\nFalse \n1' ]
  history check --sections 3
  gap_below 150
  gap_below 150 --after 2
}
@test "lock: each excludes the other and wakes it" { both_ways lock lock; }
# bats test_tags=all
@test "fenced: each excludes the other and wakes it" { both_ways fenced fenced; }
# bats test_tags=all
@test "fair: each excludes the other and wakes it" { both_ways fair fair; }
# bats test_tags=all
@test "write lock: each excludes the other and wakes it" { both_ways write write; }
# bats test_tags=all
@test "Redisson's readers and dlock's writer: each excludes the other and wakes it" { both_ways read write; }
# bats test_tags=all
@test "Redisson's writer and dlock's reader: each excludes the other and wakes it" { both_ways write read; }

@test "fair: in the order of their coming, services and dlocks; a dlock that died is passed over in its 5 s" {
  as fair
  python_peer waits <<'CODE'
lock = Redisson(server, "fair", "k", thread=sys.argv[1])
lock.acquire(60) or sys.exit("not woken")
open("order", "a").write(sys.argv[1] + "\n")
lock.release()
CODE
  queued() { redis_says one "$1" llen 'redisson_lock_queue:{k}'; }
  hold_lock k
  start_watched dead dlock run -q k -- sh -c 'echo dead >>order'
  wait_until queued 1
  start_watched 1 waits 1
  wait_until queued 2
  start_watched 2 dlock run -q k -- sh -c 'echo 2 >>order'
  wait_until queued 3
  start_watched 3 waits 3
  wait_until queued 4
  [ "$(count waiters k)" = 4 ]
  kill -KILL "$(keeper_of dead)" "$(pid_of dead)"
  let_go
  local before
  before=$(now_ms)
  [ "$(how_ended 1) $(how_ended 2) $(how_ended 3)" = "exit 0 exit 0 exit 0" ]
  (($(now_ms) - before < 6000 * slowness))
  [ "$(cat order)" = $'1\n2\n3' ]
  [ "$(redis_cli one exists k 'redisson_lock_queue:{k}' 'redisson_lock_timeout:{k}')" = 0 ]
}

# bats test_tags=all
@test "rw: readers of both are in together; a service's reader that died does not keep dlock's writer out for ever" {
  as read
  python_peer reader <<CODE
lock = Redisson(server, "read", "k", lease=$((1500 * slowness)))
say(lock.acquire())
CODE
  run -0 dlock run -q -s k -- sh -c 'reader && redis-cli -p $PORT hget k mode && redis-cli -p $PORT hlen k'
  [ "$output" = $'True\nread\n3' ]
  run -75 dlock run -q -n k -- true
  run -0 dlock run -q -w $((10 * slowness))s k -- true
}

# bats test_tags=all
@test "rw: a service's writer that goes on as a reader lets dlock's reader in, though it tells nobody" {
  as read
  python_peer peer <<'CODE'
write, read = Redisson(server, "write", "k"), Redisson(server, "read", "k")
read.owner = write.owner
write.acquire() and read.acquire() or sys.exit("not free")
say("in")
while not os.path.exists("go"): time.sleep(0.01)
write.release()
while not os.path.exists("dlock-reads"): time.sleep(0.01)
say(read.release())
CODE
  start peer >peer.out
  wait_until filled peer.out
  start_watched a dlock run -q -w 10s -s k -- touch dlock-reads
  wait_until hears
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  wait_until lines_in peer.out 2
}

# bats test_tags=all
@test "by force, kinds with messages of their own: a service's ends dlock's command, dlock's frees the service's" {
  python_peer forces <<'CODE'
say(Redisson(server, sys.argv[1], "k").force())
CODE
  python_peer peer <<'CODE'
lock = Redisson(server, sys.argv[1], "k")
say(lock.acquire(10))
say(Redisson(server, sys.argv[1], "k").acquire(20), lock.release())
CODE
  local kind
  for kind in write read; do
    as $kind
    rm -f history
    start_watched a dlock run --ttl 20s --kill-after 1s "${words[@]}" k -- section --for 30
    wait_until begun 1
    run -0 forces $kind
    [ "$(how_ended a)" = "exit 79" ]
  done
  as write
  start peer write >peer.out
  wait_until filled peer.out
  wait_until hears
  run -0 dlock force-release --yes k
  wait_until lines_in peer.out 2
  [ "$(tail -n 1 peer.out)" = "True None" ]
}
