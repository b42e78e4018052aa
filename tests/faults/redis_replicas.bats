# SPDX-License-Identifier: Apache-2.0
# wait_replicas: what replicas must have before a lock counts; and the hole that it closes, shown open first (a primary
# that dies before its replica has the lock).
load ../support/cli
load ../support/redis
load ../support/deployments

setup() {
  set_world
  script_section
}
teardown() { end_world; }

use() { export DLOCK_BACKEND=$1; } # URL
freeze() { kill -STOP "$(pid_of_redis "$1")"; }
thaw() { kill -CONT "$(pid_of_redis "$1")"; }
start_pair() { # a primary "one" with the replica "two"
  start_redis one --repl-diskless-sync-delay 0
  start_replica two one
}
# What a refusal leaves: the token counter, and nothing that keeps anybody waiting.
nothing_is_left_on() { # NAME
  [ "$(redis_cli "$1" --scan)" = 'dlock:{k}:fence' ]
}
refused() { # WHAT OPTION...: 69, with what was missing; nothing was run and nothing is left on "one"
  rm -f ran
  run -69 dlock run "${@:2}" k -- touch ran
  [[ "$output" == *"confirmed by only $1 of "* ]]
  [[ "$output" == *wait_replicas* ]]
  [ ! -e ran ]
  nothing_is_left_on one
}

# --- what was done ---------------------------------------------------------------------------------------------------

@test "a slot of --once that no replica confirms is remembered, and said to be: it does not run twice" {
  start_pair
  use "$(redis_url one)?wait_replicas=1"
  start_watched first dlock run --ttl $((8 + 4 * slowness))s --once s k -- sh -c 'echo run >>ran; until [ -e end ]; do sleep .02; done' 2>said
  wait_until filled ran
  freeze two
  touch end
  [ "$(how_ended first)" = "exit 0" ]
  grep -q 'slot s of k is remembered, not confirmed: confirmed by only 0 of 1 replica' said
  run ! grep -q 'release' said
  [ "$(redis_cli one exists k)" = 0 ]
  thaw two
  wait_until redis_line one 'connected_slaves:1' info replication
  run -0 dlock run -w 20s --once s k -- sh -c 'echo run >>ran'
  [ "$(wc -l <ran)" = 1 ]
  run -0 dlock inspect k
  [[ "$output" == *"slot s"* ]]
}

@test "wait_replicas=all, and a replica that is slower than the other: nothing is done twice" {
  start_pair
  start_proxy one bytes
  start_replica three proxy
  network delay 20
  use "$(redis_url one)?wait_replicas=all"
  run -0 dlock fence r 5
  run -0 dlock stock create s --quantity 10 --segments 1
  run -0 dlock stock take s --id a --json
  [[ "$output" == *'"repeated":false'* ]]
  run -0 dlock stock resize s --segments 2
  run -0 dlock stock show s --json
  [[ "$output" == *'"total":9'* ]]
  run -0 dlock stock drop s --yes
}

# --- a grant ---------------------------------------------------------------------------------------------------------

@test "wait_replicas=1: the replica has the lock before the command begins" {
  start_pair
  use "$(redis_url one)?wait_replicas=1"
  run -0 dlock run k -- redis-cli -p "$(port_of two)" get k
  [[ "$output" =~ ^[0-9a-f]{32}$ ]]
}

# bats test_tags=all
@test "wait_replicas=all: each of three replicas has it" {
  start_pair
  start_replica three one
  start_replica four one
  use "$(redis_url one)?wait_replicas=all"
  script show <<SCRIPT
#!/bin/sh
for port in $(port_of two) $(port_of three) $(port_of four); do redis-cli -p \$port get k; done
SCRIPT
  run -0 dlock run k -- show
  [ "$(sort <<<"$output" | uniq -c | awk '{ print $1 }')" = 3 ]
}

@test "a replica that is stopped confirms nothing: 69 with the numbers, nothing is run, nothing is left" {
  start_pair
  freeze two
  use "$(redis_url one)?wait_replicas=1"
  refused "0 of 1 replica" -n
  refused "0 of 1 replica" --connect-timeout 500ms
  use "$(redis_url one)?wait_replicas=all"
  refused "0 of 1 replica" -n
  thaw two
  run -0 dlock run -w 10 k -- true
}

@test "no replica at all: \"all\" is not none" {
  start_redis one
  use "$(redis_url one)?wait_replicas=all"
  refused "0 of 1 replica" -n
  use "$(redis_url one)?wait_replicas=2"
  refused "0 of 2 replicas" -n
}

# bats test_tags=all
@test "a waiter that is served and not confirmed gives the lock back" {
  start_pair
  use "$(redis_url one)?wait_replicas=1"
  hold_lock k
  start_watched a dlock run --connect-timeout 1s k -- touch ran 2>said
  wait_until has 1 waiters k
  freeze two
  let_go
  [ "$(how_ended a)" = "exit 69" ]
  grep -q '0 of 1 replica' said
  [ ! -e ran ]
  nothing_is_left_on one
}

# bats test_tags=all
@test "too few replicas are like a server that is down: --fallback and --if-unavailable are for them too" {
  start_pair
  freeze two
  use "$(redis_url one)?wait_replicas=1"
  run -0 --separate-stderr dlock run -n --fallback "local:$locks" k -- sh -c 'echo "$DLOCK_STORE"'
  [[ "$output" == local:* ]]
  [[ "$stderr" == *"0 of 1 replica"* ]]
  run -0 dlock run -n --if-unavailable run k -- touch ran
  [ -e ran ]
  nothing_is_left_on one
}

# bats test_tags=all
@test "a user who may not WAIT is told so: 77, and nothing is left" {
  start_pair
  redis_cli one acl setuser default -wait
  use "$(redis_url one)?wait_replicas=1"
  run -77 dlock run -n k -- touch ran
  [[ "$output" == *wait* ]]
  [ ! -e ran ]
  nothing_is_left_on one
}

# --- its renewals ----------------------------------------------------------------------------------------------------

@test "a replica that stops under a holder: no renewal counts, and the command is ended before its lease is, 79" {
  start_pair
  use "$(redis_url one)?wait_replicas=1"
  start_watched a dlock run --ttl 2s k -- section --for 30 2>said
  wait_until begun 1
  freeze two
  DLOCK_BACKEND=$(redis_url one) start_watched b dlock run -q --ttl 2s k -- section
  [ "$(how_ended a)" = "exit 79" ]
  grep -q '0 of 1 replica' said
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

# bats test_tags=all
@test "acquire, renew and release from the command line: confirmed as well" {
  start_pair
  use "$(redis_url one)?wait_replicas=1"
  local owner
  read -r owner _ < <(dlock acquire --ttl 20s k)
  run -0 dlock renew --ttl 60s --owner "$owner" k
  [ "$(redis_cli two pttl k)" -gt 50000 ]
  freeze two
  run -69 dlock renew --ttl 90s --owner "$owner" k
  [[ "$output" == *"0 of 1 replica"* ]]
  run -0 dlock release --owner "$owner" k
  nothing_is_left_on one
}

# --- the hole --------------------------------------------------------------------------------------------------------

# A primary "one" whose replica "two" hears of nothing any more.
start_cut_pair() {
  start_redis one --repl-diskless-sync-delay 0
  start_proxy one bytes
  start_replica two proxy
  network drop
}
# "one" is dead, "two" takes its place.
fail_over() {
  kill_redis one
  redis_cli two replicaof no one
  wait_until redis_line two master role
}

# bats test_tags=all
@test "trap X7, without wait_replicas: a primary dies before its replica has the lock, which is handed out twice" {
  start_cut_pair
  DLOCK_BACKEND=$(redis_url one) start_watched a dlock run --ttl 10s k -- section --for 30
  wait_until begun 1
  fail_over
  run -0 dlock run -n -b "$(redis_url two)" k -- section --for 0.3
  run -1 history check --unfenced
  # What dlock has against it without wait_replicas: the second holder's token is the higher one, and the first ends.
  awk '/BEGIN/ { if ($4 <= last) exit 1; last = $4; n++ } END { exit n != 2 }' history
  [ "$(how_ended a)" = "exit 79" ]
}

# bats test_tags=all
@test "trap X7, with wait_replicas: such a lock is not handed out in the first place" {
  start_cut_pair
  local which
  for which in 1 all; do
    run -69 dlock run -n -b "$(redis_url one)?wait_replicas=$which" k -- section
    [[ "$output" == *"0 of 1 replica"* ]]
  done
  fail_over
  run -0 dlock run -n -b "$(redis_url two)" k -- section
  history check --sections 1
}

@test "trap X7, with wait_replicas: a lock that was handed out is there after the failover" {
  start_redis one --repl-diskless-sync-delay 0
  start_proxy one bytes
  start_replica two proxy
  DLOCK_BACKEND="$(redis_url one)?wait_replicas=all" start_watched a dlock run --ttl 4s k -- section --for 30
  wait_until begun 1
  network drop # no renewal is confirmed any more
  fail_over
  run -75 dlock run -n -q -b "$(redis_url two)" k -- section
  run -0 dlock run -w 10 -q -b "$(redis_url two)" k -- section
  [ "$(how_ended a)" = "exit 79" ]
  history check --sections 2
}

# bats test_tags=all
@test "sentinel, wait_replicas=all: held across a failover and renewed at the new master once that has a replica" {
  start_sentinels
  use "$url?wait_replicas=all"
  start_watched a dlock run --ttl 30s k -- sh -c 'echo begun >begun; while [ ! -e end ]; do sleep 0.1; done'
  wait_until filled begun
  kill_redis one
  for sentinel in s1 s2 s3; do wait_until names_master "$sentinel" two; done
  run -75 dlock run -n -q k -- true
  # The new master has no replica: nothing new counts until the old one is back.
  run -69 dlock run -n other -- true
  [[ "$output" == *"0 of 1 replica"* ]]
  restart_redis one
  wait_until redis_line two connected_slaves:1 info replication
  run -0 dlock run -w 10 other -- true
  wait_until renewed_on one
  touch end
  [ "$(how_ended a)" = "exit 0" ]
}
renewed_on() { [ "$(redis_cli "$1" pttl k)" -gt 28000 ]; }

# bats test_tags=all
@test "sentinel, wait_replicas=all: a replica that leaves to be promoted still counts" {
  start_sentinels
  start_replica three one
  for sentinel in s1 s2 s3; do wait_until lists_replicas "$sentinel" 2; done
  use "$url?wait_replicas=all"
  run -0 dlock run -n before -- true
  redis_cli two replicaof no one # as a sentinel promotes it
  wait_until redis_line one connected_slaves:1 info replication
  run -69 dlock run -n k -- touch ran
  [[ "$output" == *"confirmed by only 1 of 2 replicas of "* ]]
  [ ! -e ran ]
  run -69 dlock stock create phone --quantity 3
  [[ "$output" == *"1 of 2 replicas"* ]]
}
lists_replicas() { [ "$(redis_cli "$1" sentinel replicas main | grep -cx 'master-link-status')" = "$2" ]; }
