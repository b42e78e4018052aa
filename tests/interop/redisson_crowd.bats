# SPDX-License-Identifier: Apache-2.0
# dlock (two kinds), node-redisson and clients that do what Redisson does in one crowd on one key, and each of them is
# killed now and then. For 10 s; for as many as DLOCK_TEST_CROWD says.
load ../support/cli
load ../support/redis
load ../support/peers

setup() { set_world_of_peers; server=$DLOCK_BACKEND; }
teardown() { end_world; }

# again NAME COMMAND...: runs it, and again when it has ended, until there is a file "stop"; a little later if there is
# one "calm".
script_again() {
  script again <<'CODE'
#!/bin/bash
name=$1
shift
while [ ! -e stop ]; do
  "$@" &
  echo $! >"$name.victim"
  wait $!
  [ ! -e calm ] || sleep 0.3
done 2>>"$name.err"
exit 0
CODE
}

# Sections by kind of client: a program's have its name and number, a token tells dlock's two kinds apart.
everyone_served() {
  awk '$3 == "BEGIN" { by = $2; sub(/[0-9.]+$/, "", by); if (by == "") by = $4 == "-" ? "dlock kind=lock" : "dlock kind=fenced"; n[by]++ }
    END { for (by in n) print by ": " n[by] " sections" }' history >figures
  [ "$(wc -l <figures)" = 4 ]
}

# killed NAME ALONE: what runs by that name just now, and its keeper unless ALONE is 1: the keeper of a dlock that was
# killed alone frees the lock. It is stopped first, or it might end between the two.
killed() {
  local victim
  victim=$(cat "$1.victim") && kill -STOP "$victim" 2>/dev/null || return
  (($2)) || pkill -KILL -P "$victim" '^dlock-' || true
  kill -KILL "$victim"
}

@test "sections of dlocks, services and node-redisson never overlap, whoever is killed, and everyone is served" {
  script_again
  python_peer service <<'CODE'
lock = Redisson(server, sys.argv[1], "k", lease=3000)
while not os.path.exists("stop"):
    if lock.acquire(5):
        hold(0.02)
        lock.release()
    time.sleep(0.05) # others' turn
CODE
  node_peer js_service <<'CODE'
const lock = redisson('k');
while (!fs.existsSync('stop')) {
  if (!await lock.tryLock(5000, 3000)) continue;
  await hold(20);
  await lock.unlock();
  await pause(10);
}
CODE
  local kind name names=(lock1 lock2 fenced1 fenced2 service1 service2 node1)
  for name in lock1 lock2 fenced1 fenced2; do
    kind=${name%?}
    start_watched "again-$name" again "$name" dlock run -b "$server?layout=redisson&kind=$kind" -q -w 20 --ttl 2s k -- \
      section --for 0.02
  done
  start_watched again-service1 again service1 service lock
  start_watched again-service2 again service2 service spin
  start_watched again-node1 again node1 js_service
  wait_until begun 5
  local tries=0 kills=0 end=$((SECONDS + ${DLOCK_TEST_CROWD:-10}))
  while ((SECONDS < end || kills < 6 && SECONDS < end + 60)); do
    sleep 0.7
    name=${names[tries % ${#names[@]}]}
    ! killed "$name" $((tries % 2)) || kills=$((kills + 1))
    tries=$((tries + 1))
  done
  touch calm # these locks have no order, and on a busy machine node may always come late
  wait_until everyone_served
  touch stop
  patience=60
  for name in "${names[@]}"; do [ "$(how_ended "again-$name")" = "exit 0" ]; done
  history check
  cat figures
  echo "$kills kills"
  ((kills > 5))
}
