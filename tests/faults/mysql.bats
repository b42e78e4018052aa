# SPDX-License-Identifier: Apache-2.0
# MySQL's lease when something goes wrong with processes, the server or by an operator's hand. Each test has a server of its
# own, and the user "app" with no more rights than the manual asks for. What the commands did is judged by their histories
# (verify check): no act of one holder after the next one's BEGIN, tokens grow. With a ttl of 2 s TERM is due 1.48 s and KILL
# 1.81 s after the last confirmed send. The network: mysql_network.bats; other strategies: mysql_strategies.bats.
load ../support/cli
load ../support/faults
load ../support/mysql

setup() {
  set_world
  script_section
  start_mysql_with_tables one
}
teardown() { end_world; }

# --- processes -------------------------------------------------------------------------------------------------------

@test "supervisor SIGKILLed: its command is ended, then the lock is free at once, long before the lease ends" { supervisor_killed 1000; }

# bats test_tags=all
@test "a waiter SIGKILLed or stopped leaves nothing that keeps others waiting longer than its own lease" {
  hold_section a
  wait_section b
  start_watched c dlock run -q --ttl 2s k -- section
  wait_until has 2 waiters k
  started+=("$(keeper_of b)" "$(keeper_of c)")
  kill -STOP "$(pid_of b)" "$(keeper_of b)"
  kill -KILL "$(pid_of c)" "$(keeper_of c)"
  kill -TERM "$(pid_of a)"
  how_ended a
  run -0 dlock run -q -w 15 k -- section
  # If b was granted the lock while it was stopped, it starts nothing any more, or waits again.
  kill -CONT "$(keeper_of b)" "$(pid_of b)"
  how_ended b
  history check
}

# --- the server ------------------------------------------------------------------------------------------------------

@test "server SIGKILLed and restarted under a holder and a waiter: the lease goes on, nobody notices" {
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((3 * slowness))
  wait_until begun 1
  wait_section b
  kill_server one
  restart_mysql one
  run -75 dlock run -q -n k -- true
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  run -0 dlock run -n k -- section
  history check --sections 3
}

# bats test_tags=all
@test "server SIGKILLed and restarted: --at-least keeps, --once remembers" { kept_over_restart one restart_mysql --once s; }

# bats test_tags=all
@test "server gone for good: the command is ended before its lease is, 79, with the reason; a new one gets 69" {
  start_watched a dlock run --ttl 2s k -- section --for 30 2>said
  wait_until begun 1
  kill_server one
  [ "$(how_ended a)" = "exit 79" ]
  grep -q 'LOST k' said
  run -69 dlock run --connect-timeout 500ms k -- touch ran
  [[ "$output" == *"127.0.0.1:$(port_of one)"* ]]
  [ ! -e ran ]
}

# bats test_tags=all
@test "server SIGSTOPped beyond the lease: the command is ended before, 79; when it wakes the waiter is served" {
  hold_section a
  wait_section b
  kill -STOP "$(pid_of_server one)"
  [ "$(how_ended a)" = "exit 79" ]
  kill -CONT "$(pid_of_server one)"
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "a server that accepts and says nothing: 69 after the time-out, and nothing was run" {
  kill -STOP "$(pid_of_server one)"
  local begin=$SECONDS
  run -69 dlock run -n --connect-timeout 300ms k -- touch ran
  run -69 dlock run -w 1 --connect-timeout 300ms k -- touch ran
  [ ! -e ran ]
  [ $((SECONDS - begin)) -le 5 ]
}

# bats test_tags=all
@test "no connection left: 69 with the server's reason, and the holder keeps its lock" {
  start_watched a dlock run --ttl 4s k -- section --for 6
  wait_until begun 1
  sql one 'SET GLOBAL max_connections = 10'
  local i
  for i in {1..11}; do ! open_session "s$i" app@one || true; done
  wait_until grep -q 'Too many connections' s{1..11}.out
  run -69 dlock run -n --connect-timeout 500ms other -- touch ran
  [[ "$output" == *[Tt]"oo many connections"* ]]
  [ ! -e ran ]
  [ "$(how_ended a)" = "exit 0" ]
}

# bats test_tags=all
@test "KILL of every connection, again and again: the holder keeps the lock, the waiter is served" {
  start_watched a dlock run --ttl 2s k -- section --for 2
  wait_until begun 1
  wait_section b
  local _
  for _ in {1..4}; do
    kill_connections one
    sleep 0.3
  done
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below 1500
}

# bats test_tags=all
@test "KILL QUERY of everything that runs: neither the holder nor the waiter gives up" {
  start_watched a dlock run --ttl 2s k -- section --for 2
  wait_until begun 1
  wait_section b
  local _
  for _ in {1..4}; do
    sql one "SELECT CONCAT('KILL QUERY ', id, ';') FROM information_schema.processlist WHERE user = 'app'" >kills
    sql one "$(cat kills)" 2>/dev/null || true # one may have ended by itself
    sleep 0.3
  done
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

# bats test_tags=all
@test "the server becomes read-only under holders and stays so: 79 in time; who gives back, and a new one, are told why" {
  start_watched a dlock run --ttl 2s k -- section --for 30 2>said
  local strategy
  for strategy in lease unique; do
    DLOCK_BACKEND+="?strategy=$strategy" \
      start_watched "$strategy" dlock run --ttl 2s other -- sh -c 'echo >>waits; until [ -e go ]; do sleep 0.1; done; exit 3' 2>"said-$strategy"
  done
  wait_until begun 1
  wait_until lines_in waits 2
  sql one 'SET GLOBAL read_only = ON'
  touch go
  for strategy in lease unique; do
    [ "$(how_ended "$strategy")" = "exit 3" ]
    cat "said-$strategy"
    grep -q "the release of other could not be confirmed: .*read-only" "said-$strategy"
  done
  [ "$(how_ended a)" = "exit 79" ]
  run dlock run -n --connect-timeout 1s other -- touch ran
  [[ "$status" = 69 || "$status" = 78 ]]
  [[ "$output" == *read*only* ]]
  [ ! -e ran ]
  sql one 'SET GLOBAL read_only = OFF'
  run -0 dlock run -w 5 k -- true
}

# Runs the words for each strategy.
with_each_strategy() { # NAME WORD...
  local strategy
  for strategy in lease session row unique occupy; do
    use "$(mysql_url "$1")?strategy=$strategy"
    echo "$strategy:"
    "${@:2}"
  done
}
refused_soon() { # STATUS PATTERN
  run "-$1" timeout $((20 * slowness)) dlock run --connect-timeout "${slowness}s" k -- touch ran
  [[ "$output" =~ $2 ]]
  [ ! -e ran ]
}
@test "the server answers and takes no changes: 69 after --connect-timeout with its reason, whatever the strategy" {
  sql one 'SET GLOBAL read_only = ON'
  with_each_strategy one refused_soon 69 'read-only'
}

# bats test_tags=all
@test "the server logs statements, which our changes are not: 78 with what to set, whatever the strategy" {
  start_mysql logging --server-id=1 --log-bin=log --binlog-format=STATEMENT
  dlock setup -b "$(mysql_url logging owner)"
  with_each_strategy logging refused_soon 78 'binlog_format=ROW'
}

# bats test_tags=all
@test "an account that is locked: 77, and neither --fallback nor --if-unavailable is for it" {
  sql one "CREATE USER barred; GRANT ALL ON locks.* TO barred; ALTER USER barred ACCOUNT LOCK"
  use "$(mysql_url one barred)"
  run -77 dlock run -n --fallback "local:$locks" --if-unavailable=run k -- touch ran
  [[ "$output" == *"refused the login"*locked* ]]
  [ ! -e ran ]
}

# bats test_tags=all
@test "a sleeping connection is closed by the server's wait_timeout: the lease is renewed on a new one" {
  sql one 'SET GLOBAL wait_timeout = 1'
  start_watched a dlock run --ttl 6s k -- section --for 5
  wait_until begun 1
  [ "$(how_ended a)" = "exit 0" ]
  is_free k
}

# --- operators -------------------------------------------------------------------------------------------------------

# Long before their next renewal; also in the moment in which they do not listen yet.
@test "force-release and revoke reach whoever holds a lease at once, alone or with others" {
  local mode how
  for mode in '' --shared '--permits 2'; do
    for how in 'force-release --yes' 'revoke --wait 30s'; do
      # shellcheck disable=SC2086 # options
      start_watched a dlock run -q --ttl 300s $mode k -- sh -c 'until [ -e go ]; do sleep 0.1; done'
      wait_until is_held k
      # shellcheck disable=SC2086
      run -0 dlock $how k
      [ "$(how_ended a)" = "exit 79" ]
    done
  done
}

# bats test_tags=all
@test "every row is deleted by hand: 79, and the lock is not made again; tokens go on upwards" {
  hold_section a
  sql one "$(sql one "SELECT CONCAT('DELETE FROM locks.', table_name, ';') FROM information_schema.tables
    WHERE table_schema = 'locks' AND table_name NOT LIKE '%meta%' AND table_name NOT LIKE '%version%'")"
  [ "$(how_ended a)" = "exit 79" ]
  is_free k
  run -0 dlock run -n k -- section
  history check --sections 2
}

@test "the tables are dropped under a holder: 79; a new one is told to run dlock setup, 78" {
  hold_section a
  sql one 'DROP DATABASE locks; CREATE DATABASE locks'
  [ "$(how_ended a)" = "exit 79" ]
  run -78 dlock run -n k -- touch ran
  [[ "$output" == *"dlock setup"* ]]
  [ ! -e ran ]
}

# --- first use -------------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "200 new keys, 16 contenders for each: no deadlock and no error reaches anybody, and no two are in at once" {
  script contender <<'SCRIPT'
#!/bin/bash
for k in {1..200}; do
  # Fails if another one is inside.
  dlock run -q -w 60 "new$k" -- sh -c 'mkdir "in.$1" && rmdir "in.$1" && echo "$1" >>"done.$2"' sh "$k" "$1" || echo "$k: $?"
done
SCRIPT
  local i
  for i in {1..16}; do start_watched "c$i" contender "$i" >"said$i" 2>&1; done
  patience=240
  for i in {1..16}; do [ "$(how_ended "c$i")" = "exit 0" ]; done
  cat said*
  [ "$(cat said* | wc -l)" = 0 ]
  [ "$(cat done.* | sort | uniq -c | awk '$1 == 16' | wc -l)" = 200 ]
}
