# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# Many that want one lock of MySQL: order of arrival, equal shares, and what a hand-over costs the server.
load ../support/cli
load ../support/mysql

setup() {
  set_world
  script_section
  start_mysql_with_tables one
}
teardown() { end_world; }

# N that wait for k, each in the queue before the next one comes; each writes its number to "order".
queue_up() { # N
  local i
  for ((i = 1; i <= $1; i++)); do
    start_watched "w$i" dlock run -q --ttl 60s k -- sh -c "echo $i >>order"
    wait_until has "$i" waiters k
  done
}
all_served() { # N
  local i
  for ((i = 1; i <= $1; i++)); do [ "$(how_ended "w$i")" = "exit 0" ]; done
}

@test "64 waiters are served in the order in which they came" {
  patience=60
  hold_lock --ttl 60s k
  queue_up 64
  # Each waits for a year at once: who leaves the queue and comes again would be the last.
  [ "$(sql one "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%GET_LOCK(%,31536000)'")" = 64 ]
  let_go
  all_served 64
  diff order <(seq 64)
  is_free k
}

@test "of 64 waiters some are killed, some give up: the others are served in order" {
  patience=60
  hold_lock --ttl 60s k
  queue_up 24
  local i gone=
  for i in 3 4 11; do
    kill -KILL "$(pid_of "w$i")"
    gone+=" $i"
  done
  for i in 7 19; do
    kill -TERM "$(pid_of "w$i")"
    gone+=" $i"
  done
  wait_until has 19 waiters k
  let_go
  for ((i = 1; i <= 24; i++)); do [[ " $gone " == *" $i "* || "$(how_ended "w$i")" = "exit 0" ]]; done
  diff order <(seq 24 | grep -vxE "${gone// /|}")
}

@test "eight contenders get equal shares: Jain index at least 0.99" {
  script contender <<'SCRIPT'
#!/bin/bash
until [ -e go ]; do sleep 0.1; done
while [ "$(wc -l <served)" -lt 240 ]; do dlock run -q k -- sh -c "echo $1 >>served" || exit; done
SCRIPT
  : >served
  local i
  for i in {1..8}; do start_watched "c$i" contender "$i"; done
  touch go
  patience=120
  for i in {1..8}; do [ "$(how_ended "c$i")" = "exit 0" ]; done
  # Of the first 240: at the end the last ones go without the others.
  head -n 240 served | sort | uniq -c
  head -n 240 served | sort | uniq -c | awk '{ sum += $1; squares += $1 * $1 } END { jain = sum * sum / (8 * squares); print jain; exit jain < 0.99 }'
}

questions() { sql one "SHOW GLOBAL STATUS LIKE 'Questions'" | cut -f2; }

# What the server is asked, a hand-over, when N wait.
requests_with() { # N
  hold_lock --ttl 60s k
  queue_up "$1"
  local before
  before=$(questions)
  let_go
  all_served "$1"
  echo $((($(questions) - before) / $1))
  rm -f order w*
}

@test "a hand-over costs the server the same, however many wait" {
  patience=60
  local few many
  few=$(requests_with 4)
  many=$(requests_with 40)
  echo "with 4: $few, with 40: $many"
  [ "$many" -le $((few + 2)) ]
  [ "$many" -le 3 ] # taken, given back, goodbye
}
