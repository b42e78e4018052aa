# SPDX-License-Identifier: Apache-2.0
# RedLock when something goes wrong with its servers, their networks and clocks, and with dlock itself. Each test has
# five servers of its own. What the commands did is judged by their histories (verify check): no act of one holder after
# the next one's BEGIN, tokens grow. Of a ttl of 2 s TERM is due 1.48 s and KILL 1.81 s after the last confirmed send.
load ../support/cli
load ../support/faults
load ../support/redis
load ../support/peers

setup() {
  set_world
  script_section
}
teardown() { end_world; }

# With their data on disk, unless the options say more: a young server without has no vote yet.
five_servers() { # OPTION...
  local i
  for i in 1 2 3 4 5; do start_redis "vote$i" --appendonly yes --appendfsync always "$@"; done
  use vote{1..5}
}
use() { # NAME...: five servers or proxies
  local name list=
  for name in "$@"; do list+=,127.0.0.1:$(port_of "$name"); done
  export DLOCK_BACKEND=redlock://${list#,}
}
# The first N servers are reached through proxies p1 to pN; $direct is the way past them.
five_servers_through_proxies() { # N
  five_servers
  direct=$DLOCK_BACKEND
  proxied=$1
  local i names=()
  for i in 1 2 3 4 5; do
    if [ "$i" -gt "$1" ]; then names+=("vote$i"); continue; fi
    start_proxy "vote$i" redis "p$i"
    names+=("p$i")
  done
  use "${names[@]}"
}
network() { # COMMAND...: on every proxy
  local i
  for ((i = 1; i <= proxied; i++)); do network_of "p$i" "$@"; done
}
kill_votes() { # N...
  local i
  for i in "$@"; do kill_redis "vote$i"; done
}
restart_votes() { # N...: when all of them are gone
  kill_votes "$@"
  local i
  for i in "$@"; do restart_redis "vote$i"; done
}
signal_to() { # SIGNAL N...
  local i
  for i in "${@:2}"; do kill "-$1" "$(pid_of_redis "vote$i")"; done
}
on_all() { # WORD...: the answers of all servers, on one line
  local i
  for i in 1 2 3 4 5; do redis_cli "vote$i" "$@"; done | paste -s -d' '
}
all_say() { # LINE WORD...
  [ "$(on_all "${@:2}")" = "$1" ]
}

short_section() { # NAME: a section that is longer than its lease, and comes to its end
  start_watched "$1" dlock run --ttl $((3 * slowness))s k -- section --for $((4 * slowness))
  wait_until begun 1
}
wait_section() { # NAME: one more that waits for k, since its servers have refused it once
  start_watched "$1" dlock run -q --ttl $((2 * slowness))s k -- section
  wait_until asleep_on "$1"
}
asleep_on() { [ -n "$(keeper_of "$1")" ] && in_state "$(keeper_of "$1")" S; }

# --- all of them at hand ------------------------------------------------------------------------------------------------

asked() { # TIMES: all of them, so often
  local i
  for i in 1 2 3 4 5; do redis_cli "vote$i" info commandstats | grep -q "^cmdstat_eval:calls=$1," || return; done
}

@test "a free lock is two requests to each server" {
  five_servers
  local i
  for i in 1 2 3 4 5 6; do dlock run -q "k$i" -- true; done
  wait_until asked 12
}

# --- a minority of the servers ------------------------------------------------------------------------------------------

goes_on() { # COMMAND...: whatever it does to two of five, the run goes on, and the waiter is served without them
  short_section a
  wait_section b
  "$@"
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below 1500
}

@test "two of five SIGKILLed under a holder: the run goes on, and the waiter is served without them" {
  five_servers
  goes_on kill_votes 1 2
}

# bats test_tags=all
@test "two of five SIGSTOPped: a command of several questions waits for them once" {
  five_servers
  dlock acquire --ttl 60s held
  signal_to STOP 1 5
  local before=$EPOCHREALTIME
  run -0 dlock inspect # which locks there are, and each of them
  [[ "$output" == *"on 3 of 5 servers"* ]]
  before=$(((${EPOCHREALTIME/./} - ${before/./}) / 1000))
  echo "inspect: $before ms"
  [ "$before" -lt 3500 ]
  run -0 dlock force-release --yes held
  signal_to CONT 1 5
  wait_until all_say '0 0 0 0 0' exists held # what they were told while they stood still
}

# bats test_tags=all
@test "two servers, then two others, restarted with their data: nobody notices" {
  five_servers
  short_section a
  restart_votes 1 2
  sleep 0.7
  restart_votes 3 4
  run -75 dlock run -q -n --ttl 2s k -- true
  [ "$(how_ended a)" = "exit 0" ]
}

# --- a majority -----------------------------------------------------------------------------------------------------------

@test "three of five SIGKILLed under a holder: ended before its lease, 79; nobody has it before they are back" {
  five_servers
  hold_section a
  kill_votes 1 2 3
  run -69 dlock run -n --ttl 2s --connect-timeout 300ms k -- section
  local i
  for i in 1 2 3; do [[ "$output" == *"$(port_of "vote$i")"* ]]; done
  [ "$(how_ended a)" = "exit 79" ]
  for i in 1 2 3; do restart_redis "vote$i"; done
  run -0 dlock run -q -w 10 --ttl 2s k -- section
  history check --sections 2
}

# bats test_tags=all
@test "three of five silent for the holder alone: ended before its lease, and the waiter does not overlap" {
  five_servers_through_proxies 3
  black_hole drop
}

# --- servers that forget -----------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "two restarted empty: their votes are lost, the majority decides, and they are taken again" {
  five_servers --appendonly no
  sleep $((3 * slowness + 1)).2 # until they have a vote
  short_section a
  restart_votes 1 2
  wait_until all_say "1 1 1 1 1" exists k
  [ "$(how_ended a)" = "exit 0" ]
  all_say "0 0 0 0 0" exists k
}

@test "three restarted empty have no vote while younger than the ttl, so nobody overlaps with who held them" {
  five_servers --appendonly no
  sleep $((3 * slowness + 1)).2
  short_section a
  kill -STOP "$(keeper_of a)" # or it takes the votes of those that are back before the others are
  restart_votes 1 2 3
  kill -CONT "$(keeper_of a)"
  run -69 dlock run -n --ttl $((20 * slowness))s other -- true
  [[ "$output" == *"no vote"* ]]
  # Lost when the three say so together; held where it has its votes back while its lease is good.
  [[ "$(how_ended a)" =~ ^exit\ (79|0)$ ]]
  run -0 dlock run -q -w $((20 * slowness)) --connect-timeout $((20 * slowness))s --ttl $((2 * slowness))s k -- section
  history check --sections 2
}

@test "a server restarted empty has no vote for who waits either, however often it is asked" {
  start_redis old --appendonly yes
  start_redis young
  use old young
  run -69 dlock run -w $((2 * slowness)) --ttl 1h k -- touch ran
  [[ "$output" == *"no vote"* ]]
  [ ! -e ran ]
  [ "$(redis_cli young dbsize)" = 0 ]
}

# Each server is asked at another moment, as by a client that is slow.
@test "a lock that a process renews is released: the process takes no vote back where one was given up" {
  local owner
  five_servers_through_proxies 5
  read -r owner _ < <(DLOCK_BACKEND=$direct dlock acquire --ttl 1s --watch-pid $$ k)
  network_of p3 delay 450
  network_of p4 delay 450
  network_of p5 delay 900
  run dlock release --owner "$owner" k
  [[ "$status" = 0 || "$status" = 79 ]] # or the lease was over
  DLOCK_BACKEND=$direct wait_until is_free k
}

# The next renewal would come after 200 s.
# bats test_tags=all
@test "all restarted empty: the holder hears of it by the end of its connections, 79" {
  five_servers --appendonly no
  local i
  for i in 1 2 3 4 5; do redis_cli "vote$i" config set appendonly yes; done # or they have no vote for ten minutes
  start_watched a dlock run --ttl 10m k -- sh -c 'touch held; exec sleep 300'
  wait_until test -e held
  for i in 1 2 3 4 5; do redis_cli "vote$i" config set appendonly no; done
  kill -STOP "$(keeper_of a)" # or it takes the votes of those that are back before the others are
  restart_votes 1 2 3 4 5
  kill -CONT "$(keeper_of a)"
  [ "$(how_ended a)" = "exit 79" ]
}

# bats test_tags=all
@test "the key deleted by hand: on two servers it is taken again; on all: 79, and it is not made again" {
  five_servers
  ttl=$((3 * slowness))s hold_section a
  redis_cli vote1 del k
  redis_cli vote2 del k
  wait_until all_say "1 1 1 1 1" exists k
  kill -STOP "$(keeper_of a)" # or it takes the first ones again before the last is deleted
  on_all del k
  kill -CONT "$(keeper_of a)"
  [ "$(how_ended a)" = "exit 79" ]
  all_say "0 0 0 0 0" exists k
}

# bats test_tags=all
@test "the key overwritten by somebody else on three servers: 79, and theirs is left alone" {
  five_servers
  hold_section a
  local i
  for i in 1 2 3; do redis_cli "vote$i" set k theirs px 60000; done
  [ "$(how_ended a)" = "exit 79" ]
  all_say "1 1 1 0 0" exists k
}

# bats test_tags=all
@test "memory is full on all: renewals and the release still work, a new lock is refused with the reason" {
  five_servers
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((5 * slowness))
  wait_until begun 1
  on_all config set maxmemory 1
  run -69 dlock run -n --ttl 2s other -- true
  [[ "$output" == *memory*"see: dlock doctor" && "$output" != *user_script* ]]
  [ "$(how_ended a)" = "exit 0" ]
  all_say "0 0 0 0 0" exists k
}

# --- clocks -----------------------------------------------------------------------------------------------------------------

# Five servers; the wall clocks of the first two are ahead by the seconds in the files clock1 and clock2.
five_servers_with_clocks() {
  local i
  g++ -shared -fPIC -o clock.so "$support/preload/stepped_clock.cpp"
  for i in 1 2; do
    printf '%-32d' 0 >"clock$i"
    STEPPED_CLOCK=$PWD/clock$i LD_PRELOAD=$PWD/clock.so start_redis "vote$i" --appendonly yes
  done
  for i in 3 4 5; do start_redis "vote$i" --appendonly yes; done
  use vote{1..5}
}
renewed() { # N...: those servers have been asked twice, and answered
  local i
  for i in "$@"; do redis_cli "vote$i" info commandstats | grep -qE '^cmdstat_eval:calls=([2-9]|[0-9]{2,}),' || return; done
}
ahead() { # N SECONDS
  local now
  now=$(redis_cli "vote$1" time | head -n 1)
  [ $((now - EPOCHSECONDS - $2)) -ge -2 ]
  [ $((now - EPOCHSECONDS - $2)) -le 2 ]
}

section_while_clocks_step() { # SECONDS: those of the first two; the run goes on, and says whose votes it dropped
  five_servers_with_clocks
  start_watched a dlock run --ttl $((2 * slowness))s k -- section --for $((7 * slowness / 2)) 2>said
  wait_until begun 1
  wait_until renewed 1 2
  local i
  for i in 1 2; do printf '%-32d' "$1" 1<>"clock$i"; done
  ahead 1 "$1"
  run -75 dlock run -q -n --ttl 2s k -- true
  [ "$(how_ended a)" = "exit 0" ]
  grep -q "$(port_of vote1).*clock" said
  grep -q "$(port_of vote2).*clock" said
  all_say "0 0 0 0 0" exists k
  run -0 dlock run -q -n --ttl $((2 * slowness))s k -- section
  history check --sections 2
}
# bats test_tags=all
@test "the clocks of two step forward: their votes are dropped, which is said, and the run goes on" {
  section_while_clocks_step 60
}
# bats test_tags=all
@test "the clocks of two go back by an hour: a renewal mends the lease, and the release frees all of them" {
  section_while_clocks_step -3600
}

# --- splits --------------------------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "split two, two and one: busy (75) without hanging, the one vote is given back, and a wait ends with the leases" {
  five_servers
  local i ms=$((1500 * slowness))
  for i in 1 2; do redis_cli "vote$i" set k one px $ms; done
  for i in 3 4; do redis_cli "vote$i" set k two px $ms; done
  run -75 timeout $((5 * slowness)) "$DLOCK" run -q -n --ttl 2s k -- true
  all_say "1 1 1 1 0" exists k
  run -0 timeout $((10 * slowness)) "$DLOCK" run -q -w $((8 * slowness)) --ttl 2s k -- true
}

script_crowd() { # TIMES: that often it takes the lock
  script crowd <<CODE
#!/bin/sh
for _ in $(seq -s' ' "$1"); do dlock run -q --ttl $((5 * slowness))s k -- section --for 0.01 || exit; done
CODE
}
# bats test_tags=all
@test "a crowd races for one key: everybody is served, and nobody overlaps" {
  five_servers
  script_crowd 8
  local i
  for i in 1 2 3 4 5; do start_watched "crowd$i" crowd; done
  patience=$((60 * slowness))
  for i in 1 2 3 4 5; do [ "$(how_ended "crowd$i")" = "exit 0" ]; done
  history check --sections 40
}

# bats test_tags=all
@test "a crowd with node-redlock while two servers are killed and come back: everybody is served, and nobody overlaps" {
  five_servers
  PORT=$(cat "$servers"/vote*/port | paste -s -d' ')
  export PORT
  node_peer peer <<'CODE'
for (let i = 0; i < 10; i++) {
  const locks = redlock(i % 2 ? 4 : 5, {retryDelay: 50, retryJitter: 50});
  const lock = await locks.take('k', 5000);
  await hold(20);
  await locks.give(lock).catch(() => {});
}
say('done');
CODE
  script_crowd 10
  start_watched peers peer
  start_watched one crowd
  start_watched two crowd
  wait_until begun 3
  restart_votes 1
  restart_votes 2
  patience=$((60 * slowness))
  local name
  for name in peers one two; do [ "$(how_ended "$name")" = "exit 0" ]; done
  history check --sections 30
}

# --- dlock itself -----------------------------------------------------------------------------------------------------------------

@test "supervisor SIGKILLed: its command is ended, then the lock is free at once, long before the lease ends" {
  five_servers
  supervisor_killed 1000
}

# bats test_tags=all
@test "an inner hold outlives the outer one, on what is left of the servers, and frees the lock at its end" {
  five_servers
  start_watched a dlock run --ttl $((2 * slowness))s k -- sh -c 'dlock run --ttl "$0" k -- section --for "$1" >inner.out 2>&1 & until [ -s history ]; do sleep 0.1; done' $((2 * slowness))s $((3 * slowness))
  [ "$(how_ended a)" = "exit 0" ]
  kill_votes 1 2
  run -75 dlock run -q -n --ttl 2s k -- true
  run -0 dlock run -q -w $((10 * slowness)) --ttl $((2 * slowness))s k -- section
  history check --sections 2 --unfenced
  grep -q END history
}

# --- connections cut ------------------------------------------------------------------------------------------------------------------

is_released() { DLOCK_BACKEND=$direct dlock run -q -n "$1" -- true; }

# bats test_tags=all
@test "one server cut behind every single message: ran once, released, nobody is told otherwise" {
  five_servers_through_proxies 1
  life_cut_everywhere 1s 7
}

# bats test_tags=all
@test "three servers cut behind every single message: the same" {
  five_servers_through_proxies 3
  life_cut_everywhere 1s 7
}

# --- what is left behind ------------------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "gc sweeps counters that are older than a day, and no others; a mark of fence survives two servers" {
  five_servers
  run -0 dlock run k -- true
  redis_cli vote1 set 'dlock:{old}:fence' 1000
  run -0 dlock gc
  [[ "$output" == *'swept old'* && "$output" != *'swept k'* ]]
  all_say "0 0 0 0 0" exists 'dlock:{old}:fence'
  all_say "1 1 1 1 1" exists 'dlock:{k}:fence'
  run -0 dlock fence disk 100
  kill_votes 1 2
  run -79 dlock fence disk 99 -- touch ran
  run -0 dlock fence disk 100 -- true
  kill_redis vote3
  run -69 dlock fence disk 101 -- touch ran
  [ ! -e ran ]
}

@test "force-release, revoke: the holder hears of it within a second, before and after a renewal" {
  five_servers
  local n how before
  for n in 1 2; do
    for how in f r; do
      start_watched "$how$n" dlock run --ttl 12s "k$how$n" -- sleep 60
      wait_until is_held "k$how$n"
    done
    sleep $((n * 5 - 4)) # the second ones have renewed
    for how in 'force-release --yes' "revoke -w $((10 * slowness))s"; do
      before=$(now_ms)
      # shellcheck disable=SC2086 # the words of a command
      run -0 dlock $how "k${how:0:1}$n"
      [ "$(how_ended "${how:0:1}$n")" = "exit 79" ]
      echo "$how: after $(($(now_ms) - before)) ms"
      (($(now_ms) - before < 1000 * slowness))
    done
  done
}
