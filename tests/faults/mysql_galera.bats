# SPDX-License-Identifier: Apache-2.0
# Two real nodes of one Galera cluster. Named locks and locked rows are those of one node; rows are those of all.
# bats file_tags=all
load ../support/cli
load ../support/mysql
load ../support/stock

setup() {
  set_world
  script_section
  start_galera
  env -u DLOCK_BACKEND "$DLOCK" setup -b "$(mysql_url n1 owner)" >/dev/null
  use "$(mysql_url n1)"
  n1=$(mysql_url n1) n2=$(mysql_url n2)
}
teardown() { end_world; }

# The URL of the node for the Nth.
node() { if (($1 % 2)); then echo "$n1"; else echo "$n2"; fi; }

@test "session and row are refused, 78, on both nodes, and nothing is run; lease is not" {
  local url strategy
  for url in "$n1" "$n2"; do
    for strategy in session row; do
      run -78 dlock run -n -b "$url?strategy=$strategy" k -- touch ran
      [[ "$output" == *"one of several primaries (Galera cluster"*"use strategy=lease"* ]]
      run -78 dlock inspect -b "$url?strategy=$strategy" k
    done
    run -0 dlock run -n -b "$url" k -- true
  done
  [ ! -e ran ]
}

@test "lease: waiters of both nodes are served in the order in which they came, and inspect shows all of them on each" {
  patience=60
  local i
  hold_lock --ttl 60s k
  for i in {1..8}; do
    start_watched "w$i" dlock run -q -b "$(node "$i")" --ttl 60s k -- sh -c "echo $i >>order"
    wait_until has "$i" waiters k
  done
  DLOCK_BACKEND=$n2 wait_until has 8 waiters k
  let_go
  for i in {1..8}; do [ "$(how_ended "w$i")" = "exit 0" ]; done
  diff order <(seq 8)
  is_free k
  [ "$(sql n1 "SELECT COUNT(*) FROM locks.dlock_data WHERE space = 'lock' AND text <> ''")" = 0 ]
}

@test "lease: a waiter that is killed, or gives up, is passed over on both nodes" {
  patience=60
  local i
  hold_lock --ttl 60s k
  for i in {1..6}; do
    start_watched "w$i" dlock run -q -b "$(node "$i")" --ttl 60s k -- sh -c "echo $i >>order"
    wait_until has "$i" waiters k
  done
  kill -KILL "$(pid_of w1)"
  kill -TERM "$(pid_of w4)"
  let_go
  for i in 2 3 5 6; do [ "$(how_ended "w$i")" = "exit 0" ]; done
  diff order <(printf '%s\n' 2 3 5 6)
}

@test "lease: no two are in at once, whatever the node, and nobody starves" {
  patience=60
  script contender <<'SCRIPT'
#!/bin/bash
for _ in {1..5}; do dlock run -q -b "$1" --ttl 10s k -- section --for 0.05 || exit; done
SCRIPT
  local i
  for i in {1..6}; do start_watched "c$i" contender "$(node "$i")"; done
  for i in {1..6}; do [ "$(how_ended "c$i")" = "exit 0" ]; done
  history check --sections 30
}

@test "stock run --mode lock: a segment's lock lets one command in, whatever the node" {
  patience=60
  create 30 1
  local i
  for i in {1..6}; do
    start_watched "s$i" dlock stock run phone --mode lock -b "$(node "$i")" --id "order-$i" --ttl 20s -- section --for 0.2
  done
  for i in {1..6}; do [ "$(how_ended "s$i")" = "exit 0" ]; done
  history check --sections 6
  is taken 6
}

@test "doctor says what a cluster means for locks" {
  run dlock doctor -b "$n1"
  [[ "$output" == *"Galera"*"in the order of arrival"* ]]
  run ! dlock doctor -b "$n1?strategy=session"
  [[ "$output" == *"Galera"*"use strategy=lease"* ]]
}
