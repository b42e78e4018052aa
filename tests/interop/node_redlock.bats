# SPDX-License-Identifier: Apache-2.0
# node-redlock 4.2.0 and 5.0.0-beta.2 and dlock on one key: on one server, and by votes of five.
load ../support/cli
load ../support/redis
load ../support/peers

setup() { set_world_of_peers; }
teardown() { end_world; }

five_servers() {
  local i
  # With their data on disk: a young server without has no vote yet.
  for i in 1 2 3 4 5; do start_redis "vote$i" --appendonly yes; done
  PORT=$(cat "$servers"/vote*/port | paste -s -d' ')
  DLOCK_BACKEND=redlock://127.0.0.1:${PORT// /,127.0.0.1:}
}
on_all() { # N WORD...: the answers of the first N servers, on one line
  local i
  for ((i = 1; i <= $1; i++)); do redis_cli "vote$i" "${@:2}"; done | paste -s -d' '
}

@test "dlock holds: both generations are refused" {
  node_peer peer <<'CODE'
for (const generation of [4, 5])
  await redlock(generation, {retryCount: 1, retryDelay: 50}).take('k', 5000).then(() => say('taken'), (error) => say(error.name));
CODE
  hold_lock k
  run -0 peer
  [ "$(wc -l <<<"$output")" = 2 ]
  [[ "$output" != *taken* ]]
  let_go
}

both_hold() { # GENERATION
  node_peer peer <<CODE
const locks = redlock($1), lock = await locks.take(['k', 'j'], 1000);
section++;
act('BEGIN -');
await pause(600);
const longer = await locks.extend(lock, 1000);
await pause(700);
act('END');
await locks.give(longer);
CODE
  start peer
  wait_until begun 1
  run -75 dlock run -q -n j -- true
  run -0 dlock run -q -w 10 k -- section
  history check --sections 2
  gap_below 400
}
@test "node-redlock 4 holds two keys and extends: dlock is refused, waits, and is woken by the release" { both_hold 4; }
@test "node-redlock 5 holds two keys and extends: dlock is refused, waits, and is woken by the release" { both_hold 5; }

# bats test_tags=all
@test "both generations wait for dlock, and are served within their retry time" {
  node_peer peer <<'CODE'
for (const generation of [4, 5]) {
  const locks = redlock(generation), lock = await locks.take('k', 5000);
  await hold(20);
  await locks.give(lock);
}
CODE
  start_watched a dlock run k -- section --for $((1 + slowness)) # until the peer is up
  wait_until begun 1
  run -0 peer
  history check --sections 3
  gap_below 1000 # retries every 200 ms +- 100
}

# bats test_tags=all
@test "node-redlock dies with the lock: dlock has it when its time is over" {
  node_peer peer <<'CODE'
await redlock(5).take('k', 1500);
await hold(0);
process.kill(process.pid, 'SIGKILL');
CODE
  peer || true
  run -75 dlock run -q -n k -- true
  run -0 dlock run -q -w 10 k -- section
  history check --sections 2
  gap_below 2300
}

@test "five servers, dlock holds the majority: node-redlock is refused, and wins after the release" {
  five_servers
  node_peer peer <<'CODE'
await redlock(5, {retryCount: 0}).take('k', 5000).then(() => say('taken'), (error) => say('refused'));
const locks = redlock(5), lock = await locks.take('k', 5000);
await hold(20);
await locks.give(lock);
say('served');
CODE
  start_watched a dlock run --ttl 5s k -- section --for 5 # until the peer is up
  wait_until begun 1
  run -0 peer
  [ "$output" = $'refused\nserved' ]
  history check --sections 2
  [ "$(on_all 5 exists k)" = "0 0 0 0 0" ]
}

# bats test_tags=all
@test "five servers, node-redlock holds the majority: dlock is refused with 75, and served after the release" {
  five_servers
  node_peer peer <<'CODE'
const locks = redlock(4), lock = await locks.take('k', 10000);
await hold(1000);
await locks.give(lock);
CODE
  start peer
  wait_until begun 1
  run -75 dlock run -q -n --ttl 5s k -- true
  run -0 dlock run -q -w 10 --ttl 5s k -- section
  history check --sections 2
}

@test "five servers, two taken by others: dlock wins with three, and leaves the foreign two alone" {
  five_servers
  redis_cli vote1 set k theirs px 60000
  redis_cli vote2 hset k field 1
  run -0 dlock run --ttl 5s -w 5 k -- true
  [ "$(on_all 5 exists k)" = "1 1 0 0 0" ]
  [ "$(redis_cli vote1 get k)" = theirs ]
}

# bats test_tags=all
@test "five servers, three taken by others: dlock is busy, and its own two votes are gone again" {
  five_servers
  local i
  for i in 1 2 3; do redis_cli "vote$i" set k theirs px 60000; done
  run -75 dlock run -q -n --ttl 5s k -- true
  run -75 dlock run -q -w 0.5 --ttl 5s k -- true
  [ "$(on_all 5 exists k)" = "1 1 1 0 0" ]
}

# bats test_tags=all
@test "five servers, three are gone: unreachable (69), not busy, and each is named" {
  five_servers
  local i
  for i in 1 2 3; do kill_redis "vote$i"; done
  run -69 dlock run -n --ttl 5s --connect-timeout 300ms k -- true
  for i in 1 2 3; do [[ "$output" == *"$(port_of "vote$i")"* ]]; done
}

# bats test_tags=all
@test "four servers, split two to two with node-redlock: dlock answers busy" {
  five_servers
  DLOCK_BACKEND=${DLOCK_BACKEND%,*}
  redis_cli vote1 set k theirs px 60000
  redis_cli vote2 set k theirs px 60000
  run -75 dlock run -q -n --ttl 5s k -- true
  [ "$(on_all 4 exists k)" = "1 1 0 0" ]
}
