# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# Known traps of locks in Redis, each shown first (with the commands of those who fall into it) and then that dlock does
# not. Which test shows which of the traps X1 to X12 stands in tests/README.md.
load ../support/cli
load ../support/redis

setup() {
  set_world
  script_section
  start_redis one
  export DLOCK_BACKEND
  DLOCK_BACKEND=$(redis_url one)
}
teardown() { end_world; }

keeper_of() { pgrep -P "$(cat "$1.pid")" -x dlock-redis; } # NAME of start_watched
calls() { redis_cli one info commandstats | sed -nE "s/^cmdstat_$1:calls=([0-9]+).*/\1/p"; } # COMMAND

@test "X1: SETNX and a crash before EXPIRE lock for ever; dlock's key has its end from the first moment on" {
  redis_cli one setnx naive holder # and the holder dies here
  [ "$(redis_cli one pttl naive)" = -1 ]
  run -75 dlock run -q -w 0.3 naive -- true
  # The same moment of dlock: killed together with its keeper as soon as the key is there.
  redis_cli one config set notify-keyspace-events KA
  redis_cli one --csv subscribe '__keyspace@0__:k' >events 3>&- &
  echo $! >events.pid
  wait_until filled events
  start_watched a dlock run --ttl 1s k -- sleep 30
  wait_until grep -q '"set"' events
  kill -KILL "$(cat a.pid)" "$(keeper_of a)"
  [ "$(redis_cli one pttl k)" -gt 0 ]
  run -0 dlock run -q -w 10 k -- true
}

@test "X1: at no message of an acquire that is cut there is a key without an end" {
  start_proxy one
  local n
  for n in 0 1 2 3; do
    network cut replies "$n"
    run dlock acquire -n --ttl 1s -b "$(redis_url proxy)" "k$n"
    [[ "$(redis_cli one pttl "k$n")" -gt 0 || "$(redis_cli one exists "k$n")" = 0 ]]
  done
}

@test "X2: a late release without the owner frees the next holder's lock; dlock's does not" {
  redis_cli one set naive first px 50
  wait_until redis_says one 0 exists naive
  redis_cli one set naive second px 60000
  redis_cli one del naive # the first one's release
  [ "$(redis_cli one exists naive)" = 0 ]

  local owner
  read -r owner _ < <(dlock acquire --ttl 1s k)
  wait_until redis_says one 0 exists k
  hold_lock k
  run -79 dlock release --owner "$owner" k
  run -79 dlock renew --owner "$owner" --ttl 60s k
  [ "$(redis_cli one get k)" = "$holder_owner" ]
  let_go
}

@test "X3: compare, then delete, in two steps frees the lock of whoever came in between; dlock's release is one step" {
  redis_cli one set naive first px 1000
  [ "$(redis_cli one get naive)" = first ] # "it is mine", thinks the first one
  wait_until redis_says one 0 exists naive
  redis_cli one set naive second nx px 60000
  [ "$(redis_cli one del naive)" = 1 ] # and deletes the second one's

  # The release of dlock arrives whole, or not at all, and after the next holder has come it does nothing.
  start_proxy one
  local owner
  read -r owner _ < <(dlock acquire --ttl 1s -b "$(redis_url proxy)" k)
  network hold
  start_watched late dlock release --owner "$owner" -b "$(redis_url proxy)" k
  wait_until redis_says one 0 exists k
  hold_lock k
  network pass
  [ "$(how_ended late)" = "exit 79" ]
  [ "$(redis_cli one get k)" = "$holder_owner" ]
  let_go
}

@test "X4: the reply to SET NX is lost, and its own owner is refused from then on; dlock asks again and learns that it holds" {
  redis_cli one set naive me nx px 60000 >/dev/null # the reply did not arrive
  [ "$(redis_cli one set naive me nx px 60000)" = "" ]

  start_proxy one
  network cut replies 0 # nothing of the answer to the acquire arrives; the server has granted
  run -0 dlock run -w 10 --ttl 30s -b "$(redis_url proxy)" k -- redis-cli -p "$(port_of one)" get k
  [[ "$output" =~ ^[0-9a-f]{32}$ ]]
  [ "$(redis_cli one exists k)" = 0 ]
}

@test "X5: expiry by the clients' clocks lets one in whose clock is ahead; dlock's clients with wrong clocks exclude each other" {
  build_clock
  # GETSET of "expires at", as judged by a client whose clock is a minute ahead.
  redis_cli one set naive $(($(date +%s) + 30))
  [ "$(redis_cli one get naive)" -lt "$(with_clock +60 date +%s)" ] # "it has expired", thinks this one

  start_watched a with_clock -3600 dlock run --ttl 2s k -- section --for 3
  wait_until begun 1
  run -75 with_clock +3600 dlock run -q -n k -- section
  run -75 with_clock +3600 dlock run -q -w 1 k -- section
  run -0 with_clock +3600 dlock run -q -w 20 k -- section
  [ "$(how_ended a)" = "exit 0" ]
  history check --sections 2 # the tokens too: they are the server's
}

@test "X6: a fixed expiry ends under work that takes longer; dlock's lease is renewed, and nobody else's with it" {
  redis_cli one set naive first px 300 nx
  wait_until redis_says one 0 exists naive # the work goes on
  [ "$(redis_cli one set naive second px 300 nx)" = OK ]

  start_watched a dlock run --ttl 2s k -- section --for 4
  wait_until begun 1
  run -75 dlock run -q -w 2 k -- true
  [ "$(how_ended a)" = "exit 0" ]

  start_watched b dlock run --ttl 3s k -- section --for 30
  wait_until begun 2
  redis_cli one set k stranger px 1500
  [ "$(how_ended b)" = "exit 79" ]
  wait_until redis_says one 0 exists k # its 1.5 s were not made longer
}

@test "X8: a pause between taking and using: what wakes up late has the lower token, and fence refuses it" {
  script late <<'SCRIPT'
#!/bin/sh
echo "$DLOCK_TOKEN" >token.tmp && mv token.tmp token
while [ ! -e go ]; do sleep 0.1; done
SCRIPT
  start_watched a dlock run --ttl 1s k -- late
  wait_until filled token
  local keeper token
  keeper=$(keeper_of a) token=$(cat token)
  started+=("$keeper")
  kill -STOP "$keeper" "$(cat a.pid)" "$(command_of a)"
  run -0 dlock run -q -w 10 k -- sh -c 'dlock fence resource "$DLOCK_TOKEN" -- true'
  # What the paused one would send now:
  run -79 dlock fence resource "$token" -- touch damage
  run -79 dlock check k "$token"
  [ ! -e damage ]
  touch go
  kill -CONT "$keeper" "$(cat a.pid)" "$(command_of a)"
  [ "$(how_ended a)" = "exit 79" ]
}

@test "X9: the server's clock jumps an hour ahead and ends the lease: the holder hears it at its next renewal, 79" {
  start_jumping
  start_watched a dlock run --ttl 4s k -- section --for 30
  wait_until begun 1
  jump clock 3600
  [ "$(how_ended a)" = "exit 79" ]
  run -0 dlock run -q -w 10 k -- section
  history check --sections 2
}

@test "X9: the server's clock jumps an hour back: no second holder, and tokens go on upwards" {
  start_jumping
  start_watched a dlock run --ttl 2s k -- section --for 2
  wait_until begun 1
  jump clock -3600
  run -75 dlock run -q -n k -- section
  [ "$(how_ended a)" = "exit 0" ]
  run -0 dlock run -q -w 10 k -- section
  history check --sections 2
}

@test "X9: the server's clock is behind: times are told on the clock of who asks, who waits for a lock of Redisson's does not ask without end" {
  start_jumping
  jump clock -3600
  dlock acquire --ttl 9m lease
  run -0 dlock inspect lease
  [[ "$output" =~ " for "[0-9]+" "m?s" ".*" ends in 8 min" ]]
  use "$DLOCK_BACKEND?layout=redisson&kind=lock"
  redis_cli jumping hset k 11111111-2222-4333-8444-555555555555:7 1
  redis_cli jumping pexpire k 400
  run -0 dlock wait -w 10 k
  [ "$(redis_cli jumping info commandstats | sed -n 's/^cmdstat_eval:calls=\([0-9]*\),.*/\1/p')" -lt 50 ]
}

@test "X9: the clock of a holder's machine jumps: its lease is counted on a clock that nobody sets" {
  build_clock
  start_watched a with_clock 0 dlock run --ttl 2s k -- section --for 3
  wait_until begun 1
  jump clock.0 86400
  sleep 0.5
  jump clock.0 -86400
  run -75 dlock run -q -w 1 k -- true
  [ "$(how_ended a)" = "exit 0" ]
}

# --- clocks that step (tests/support/preload) ------------------------------------------------------------------------

# Makes the program with_clock SECONDS COMMAND...: whose wall clock is ahead by what stands in the file clock.SECONDS.
build_clock() {
  g++ -shared -fPIC -o clock.so "$support/preload/stepped_clock.cpp"
  script with_clock <<SCRIPT
#!/bin/sh
export LD_PRELOAD=$PWD/clock.so STEPPED_CLOCK=$PWD/clock.\$1
printf '%-32d' "\$1" >"\$STEPPED_CLOCK"
shift
exec "\$@"
SCRIPT
}
jump() { printf '%-32d' "$2" 1<>"$1"; } # FILE SECONDS
start_jumping() { # a server "jumping" with its clock in the file "clock"
  build_clock
  printf '%-32d' 0 >clock
  LD_PRELOAD=$PWD/clock.so STEPPED_CLOCK=$PWD/clock start_redis jumping
  DLOCK_BACKEND=$(redis_url jumping)
}

# --- the herd --------------------------------------------------------------------------------------------------------

# Requests per hand-over with N waiters: all but the release's are theirs.
requests_with() { # N
  local i before
  hold_lock "herd$1"
  for ((i = 0; i < $1; i++)); do start dlock run -q "herd$1" -- true; done
  wait_until has "$1" waiters "herd$1"
  before=$(calls eval)
  let_go
  wait_until is_free "herd$1"
  echo $((($(calls eval) - before) / $1))
}

@test "X11: all waiters watch one key and all wake at each release; dlock wakes one, and 40 cost each hand-over no more than 5" {
  # Everybody at one key, as with tracking or a channel of it: one release, one message to each.
  local i
  for i in 1 2 3; do redis_cli one --csv subscribe naive >"heard$i" 3>&- & started+=("$!"); done
  wait_until redis_says one $'naive\n3' pubsub numsub naive
  [ "$(redis_cli one publish naive free)" = 3 ]

  local few many
  few=$(requests_with 5)
  many=$(requests_with 40)
  echo "requests a hand-over: $few with 5 waiters, $many with 40"
  [ "$many" -le $((few + 4)) ]
}
