# SPDX-License-Identifier: Apache-2.0
# The strategies of MySQL that are not the lease, when something goes wrong. Those of a connection (session, row) end with
# it: at once when it is reset, after the server's wait_timeout when it is silent, and then the command has been ended.
# Those of a row with a time in it (unique, occupy) end as the lease does; mysql.bats has the whole list.
load ../support/cli
load ../support/mysql

setup() {
  set_world
  script_section
  start_mysql_with_tables one
}
teardown() { end_world; }

use_strategy() { use "$(mysql_url "${2:-one}")?strategy=$1"; } # STRATEGY [NAME]

# The second section, whose keeper waits for the lock.
wait_as_b() {
  start_watched b dlock run -q --ttl 2s k -- section
  wait_until keeper_of b
}
a_ends_b_follows() { # STATUS: of the first one
  [ "$(how_ended a)" = "exit $1" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

supervisor_killed() { # STRATEGY
  use_strategy "$1"
  start_watched a dlock run --ttl 20s k -- section --for 30
  wait_until begun 1
  wait_as_b
  kill -KILL "$(pid_of a)"
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below 1500
}
# bats test_tags=all
@test "session: supervisor SIGKILLed: its command is ended, then the lock is free at once" { supervisor_killed session; }

silence() { # STRATEGY
  start_proxy one mysql
  use_strategy "$1" proxy
  hold_section a --stubborn
  use_strategy "$1"
  wait_as_b
  network drop
  a_ends_b_follows 79
}
@test "session: a silent network: KILL before the server lets go, 79; the next one does not overlap" { silence session; }
# bats test_tags=all
@test "row: a silent network: KILL before the server lets go, 79; the next one does not overlap" { silence row; }

frozen() { # STRATEGY
  use_strategy "$1"
  hold_section a
  wait_as_b
  kill -STOP "$(pid_of_server one)"
  [ "$(how_ended a)" = "exit 79" ]
  kill -CONT "$(pid_of_server one)"
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}
# bats test_tags=all
@test "session: server SIGSTOPped: 79, and the waiter is served when it wakes" { frozen session; }

# The connection is reset: the server has let go by then, and says so; the command is ended as soon as that can be.
reset_noticed() { # STRATEGY HOW
  use_strategy "$1"
  start_watched a dlock run --ttl 20s --kill-after 500ms k -- section --for 30
  wait_until begun 1
  local begin=${EPOCHREALTIME/./} ms
  "$2" one
  [ "$(how_ended a)" = "exit 79" ]
  ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
  echo "ended after $ms ms"
  [ "$ms" -lt $((6000 * slowness)) ] # 0.6 s on an idle machine; the lease has 20 s
}
@test "session: its connection is KILLed: noticed at once, 79" { reset_noticed session kill_connections; }
# bats test_tags=all
@test "session: the server is SIGKILLed: noticed at once, 79" { reset_noticed session kill_server; }

# The waiter's connection is KILLed: it lines up again.
waiter_killed() { # STRATEGY
  use_strategy "$1"
  start_watched a dlock run --ttl 2s k -- section --for $((2 * slowness))
  wait_until begun 1
  wait_as_b
  wait_until waits_for_it
  sql one "KILL $(sql one "$waiting")"
  a_ends_b_follows 0
}
# The wait alone: what a holder says may take as long on a busy machine.
waiting="SELECT id FROM information_schema.processlist WHERE user = 'app' AND time_ms > 100
  AND (info LIKE '%GET_LOCK(%' OR info LIKE '%FOR UPDATE') AND info NOT LIKE '%GET_LOCK(%,0)'"
waits_for_it() { [ "$(sql one "$waiting")" ]; }
# bats test_tags=all
@test "session: a waiter's connection is KILLed: it waits on, and is served" { waiter_killed session; }

restarted() { # STRATEGY
  use_strategy "$1"
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((3 * slowness))
  wait_until begun 1
  wait_as_b
  kill_server one
  restart_mysql one
  run -75 dlock run -q -n k -- true
  a_ends_b_follows 0
}
# bats test_tags=all
@test "unique: server SIGKILLed and restarted under a holder and a waiter: nobody notices" { restarted unique; }

# The keeper last, or a busy kernel closes its connection before it comes to end the command of the other.
both_killed() { # STRATEGY MS
  local keeper
  use_strategy "$1"
  hold_section a
  wait_as_b
  keeper=$(keeper_of a)
  kill -STOP "$keeper"
  kill -KILL "$(pid_of a)"
  [ "$(how_ended a)" = "signal 9" ]
  kill -KILL "$keeper"
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below "$2"
}
# bats test_tags=all
@test "session: supervisor and keeper SIGKILLed: the kernel ends the command, the server frees the lock at once" { both_killed session 1000; }

# A keeper that is SIGKILLed takes its connection with it, and the connection the lock: dlock sees that at once as well. In
# between the next one may have begun, with a higher token.
keeper_killed() { # STRATEGY
  use_strategy "$1"
  start_watched a dlock run --ttl 20s --kill-after 500ms k -- section --for 30
  wait_until begun 1
  started+=("$(keeper_of a)")
  local begin=${EPOCHREALTIME/./}
  kill -KILL "$(keeper_of a)"
  [ "$(how_ended a)" = "exit 79" ]
  local took=$(((${EPOCHREALTIME/./} - begin) / 1000))
  echo "ended after $took ms"
  # The server lets go with the connection: the command is not left to its lease.
  case $1 in session | row) ((took < 8000)) ;; esac
  run -0 dlock run -q -w 25 k -- section
  awk '/BEGIN/ { if ($4 <= last) exit 1; last = $4; n++ } END { exit n != 2 }' history
}
# bats test_tags=all
@test "session: keeper SIGKILLed: 79, the next token is higher" { keeper_killed session; }

# bats test_tags=all
@test "session: the server becomes read-only under a holder: the lock stays, and the command's status is dlock's" {
  use_strategy session
  start_watched a dlock run --ttl 2s k -- sh -c 'until [ -e go ]; do sleep 0.1; done; exit 7' 2>said
  wait_until is_held k
  sql one 'SET GLOBAL read_only = ON'
  touch go
  [ "$(how_ended a)" = "exit 7" ]
  cat said
  [ ! -s said ]
  sql one 'SET GLOBAL read_only = OFF'
  run -0 dlock run -n k -- true
}

# --- a server that goes away under waiters ---------------------------------------------------------------------------

is_told() { grep -qF -- "$2" "said-$1"; } # STRATEGY TEXT
events_of() { jq -r "select(.event | test(\"reached\")) | .event + \" \" + (.why // \"\")" "events-$1"; } # STRATEGY

# bats test_tags=all
@test "every strategy: who waits is told once that the server is gone, and why, and once that it is back" {
  local strategy strategies='lease session row unique occupy'
  for strategy in $strategies; do
    use_strategy "$strategy"
    start_watched "a-$strategy" dlock run -q --ttl 10m --on-lost term "$strategy" -- sleep 600
    wait_until is_held "$strategy"
    start_watched "b-$strategy" sh -c 'exec dlock run --events "./events-$1" "$1" -- true 2>"said-$1"' - "$strategy"
    wait_until is_told "$strategy" 'held by'
  done
  kill_server one
  for strategy in $strategies; do wait_until is_told "$strategy" "waiting for $strategy: cannot reach 127.0.0.1:"; done
  restart_mysql one
  for strategy in $strategies; do
    [ -e "a-$strategy" ] || kill -TERM "$(pid_of "a-$strategy")" # others have lost it with their connection
    [ "$(how_ended "b-$strategy")" = "exit 0" ]
    cat "said-$strategy"
    [ "$(grep -c 'cannot reach' "said-$strategy")" = 1 ]
    [ "$(grep -c 'the store answers again' "said-$strategy")" = 1 ]
    [[ "$(events_of "$strategy")" == "unreached cannot reach 127.0.0.1:"*$'\n'"reached "* ]]
    lines_in "events-$strategy" 4
  done
}

# Whoever sets it waits for the statements that wait for a row, and all that would write wait for him.
@test "row: read_only is set in seconds beside a holder and its waiter; the waiter hears of it, and is served once it is over" {
  use_strategy row
  hold_lock k
  start_watched waiter dlock run -w 90s k -- touch served
  wait_until has 1 waiters k
  local begin=$SECONDS
  sql one 'SET GLOBAL read_only = ON'
  [ $((SECONDS - begin)) -lt $((10 * slowness)) ]
  run -69 dlock run -n --connect-timeout 1s k -- true
  sql one 'SET GLOBAL read_only = OFF'
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
}
# bats test_tags=all
@test "row: a release writes nothing before the row is free: read_only comes at once, and the waiter does not say busy" {
  use_strategy row
  script_work
  start_watched holder dlock run k -- work inside
  wait_until is_held k
  start_watched waiter dlock run -q -w $((2 * slowness))s k -- touch served
  wait_until has 1 waiters k
  sql one 'SET GLOBAL read_only = ON' &
  touch go
  [ "$(how_ended holder)" = "exit 0" ]
  wait $!
  [[ "$(how_ended waiter)" == "exit 69" || -e served ]]
  run -0 sql one 'SELECT @@read_only'
  [ "$output" = 1 ]
}
