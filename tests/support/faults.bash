# SPDX-License-Identifier: Apache-2.0
# What must hold on every store when processes or the network fail: bodies of tests, judged by the commands' histories
# (verify check). The lock is $key (k). GAP is the time in ms within which the next command begins. Loaded after cli.bash; the
# network is the one of start_proxy, and $direct the way past it.

# --- processes -------------------------------------------------------------------------------------------------------

supervisor_killed() { # GAP [WORD...]: of dlock run, and its command; a section of its own unless WORDs are given
  local command=("${@:2}")
  [ ${#command[@]} -gt 0 ] || command=(section --for 30)
  start_watched a dlock run --ttl 20s --kill-after 500ms "${key:-k}" -- "${command[@]}"
  wait_until begun 1
  wait_section b
  kill -KILL "$(pid_of a)"
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below "$1"
}

keeper_killed() { keeper_gets KILL "$@"; }  # [GAP]
keeper_stopped() { keeper_gets STOP "$@"; } # [GAP]
keeper_gets() {                             # SIGNAL [GAP]
  hold_section a
  wait_section b
  kill "-$1" "$(keeper_of a)"
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  [ -z "${2-}" ] || gap_below "$2"
}

supervisor_and_command_stopped() { # SECONDS: of a quiet machine, longer than the ttl of 2 s
  start_watched a dlock run --ttl $((2 * slowness))s "${key:-k}" -- section --for $((2 * slowness))
  wait_until begun 1
  local command signal
  command=$(tail -n 1 history | cut -d' ' -f2)
  # What is sent to all processes of a service reaches the keeper, too, and is none of its business.
  for signal in HUP INT QUIT TERM PIPE USR1 USR2 ALRM IO RTMIN; do kill -s "$signal" "$(keeper_of a)"; done
  kill -STOP "$(pid_of a)" "$command"
  run -75 dlock run -q -w $(($1 * slowness)) "${key:-k}" -- true
  kill -CONT "$(pid_of a)" "$command"
  [ "$(how_ended a)" = "exit 0" ]
  run -0 dlock run -n "${key:-k}" -- true
}

everything_stopped() {
  hold_section a
  local keeper command
  keeper=$(keeper_of a) command=$(tail -n 1 history | cut -d' ' -f2)
  kill -STOP "$keeper" "$(pid_of a)" "$command"
  run -0 dlock run -q -w 10 "${key:-k}" -- section
  kill -CONT "$keeper" "$(pid_of a)" "$command"
  [ "$(how_ended a)" = "exit 79" ]
  # What it did after its lease: little, and under the lower token.
  [ "$(awk -v me="$command" '/BEGIN/ { n++ } n == 2 && $2 == me' history | wc -l)" -lt 50 ]
  awk '/BEGIN/ { if ($4 <= last) exit 1; last = $4; n++ } END { exit n != 2 }' history
  ended "$command"
}

supervisor_and_keeper_killed() { # GAP
  hold_section a
  wait_section b
  kill -KILL "$(pid_of a)" "$(keeper_of a)"
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below "$1"
}

# Its keeper is granted the lock, and gives it back when nothing was started under it for a ttl.
stopped_waiter_passed_over() {
  hold_lock "${key:-k}"
  start_watched first dlock run -q --fair --ttl 3s "${key:-k}" -- touch stopped
  wait_until has 1 waiters "${key:-k}"
  start_watched second dlock run -q --fair "${key:-k}" -- touch ran
  wait_until has 2 waiters "${key:-k}"
  kill -STOP "$(pid_of first)"
  wait_until in_state "$(pid_of first)" T
  let_go
  [ "$(how_ended second)" = "exit 0" ]
  [ -e ran ]
  kill -CONT "$(pid_of first)"
  [ "$(how_ended first)" = "exit 79" ]
  [ ! -e stopped ]
}

# --- the network -----------------------------------------------------------------------------------------------------

black_hole() { # hold|drop [WORD...]: for the section that holds the lock
  hold_section a "${@:2}"
  DLOCK_BACKEND=$direct wait_section b
  network "$1"
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

stall_that_heals() { # TTL SECTION STALL: seconds, the first two of a quiet machine
  start_watched a dlock run --ttl $(($1 * slowness))s "${key:-k}" -- section --for $(($2 * slowness))
  wait_until begun 1
  network hold
  sleep "$3"
  network pass
  [ "$(how_ended a)" = "exit 0" ]
}

late_messages_of_a_lost_holder() {
  hold_section a
  use "$direct"
  network hold
  [ "$(how_ended a)" = "exit 79" ]
  start_watched b dlock run -q --ttl 2s "${key:-k}" -- section --for 2
  wait_until begun 2
  network pass
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

connections_reset() { # TTL SECTION-SECONDS TIMES PAUSE [GAP]
  start_watched a dlock run --ttl "$1" "${key:-k}" -- section --for "$2"
  wait_until begun 1
  wait_section b --ttl "$1"
  local n
  for ((n = 0; n < $3; n++)); do
    network reset
    sleep "$4"
  done
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  [ -z "${5-}" ] || gap_below "$5"
}

# Redefined where the store does not list who waits.
is_queued() { DLOCK_BACKEND=$direct has 1 waiters "${key:-k}"; }
# The network is away for longer than --connect-timeout, and for less than --wait.
outage_under_a_waiter() { # hold|refuse [OPTION...]: of the waiter
  DLOCK_BACKEND=$direct hold_lock "${key:-k}"
  start_watched b dlock run -w $((60 * slowness)) --connect-timeout "${slowness}s" "${@:2}" "${key:-k}" -- touch ran 2>said
  wait_until is_queued
  network "$1"
  sleep $((3 * slowness))
  [ ! -e b ]
  let_go
  network pass
  how_ended b
  cat said
  [ "$(cat b)" = "exit 0" ]
  [ -e ran ]
}

# --- every message ---------------------------------------------------------------------------------------------------

# How the tests below cut the connection behind its N-th message; redefined where there are several.
cut_behind() { network cut "$@"; } # requests|replies N

# Redefined where a majority decides: a vote that did not hear of the release ends with its lease.
is_released() { DLOCK_BACKEND=$direct is_free "$1"; }

# Acquire, some renewals, release: each ran once and is released, and nobody is told otherwise.
life_cut_everywhere() { # TTL LAST: behind each message up to the LAST
  local direction n lock
  for direction in requests replies; do
    for ((n = 0; n <= $2; n++)); do
      lock=${key:-k}-$direction-$n
      rm -f ran
      cut_behind "$direction" "$n"
      run dlock run -w 5 --ttl "$1" "$lock" -- sh -c 'echo ran >>ran; sleep 0.4'
      echo "$direction $n: $status $output"
      [ "$status" = 0 ]
      [ "$(wc -l <ran)" = 1 ]
      is_released "$lock"
    done
  done
}

# dlock acquire and dlock release leave no lease behind.
lease_cut_everywhere() { # LAST
  local direction n lock owner _
  for direction in requests replies; do
    for ((n = 0; n <= $1; n++)); do
      lock=${key:-c}-$direction-$n
      cut_behind "$direction" "$n"
      run -0 --separate-stderr dlock acquire -w 5 --ttl 30s "$lock"
      read -r owner _ <<<"$output"
      cut_behind "$direction" "$n"
      run -0 dlock release "$lock" --owner "$owner"
      DLOCK_BACKEND=$direct is_free "$lock"
    done
  done
}

# --- the queue -------------------------------------------------------------------------------------------------------

# --fair: in order of arrival; and who comes when the lock is free, but somebody waits for it, is not let by.
fair_queue() { # a holder, and five who wait
  hold_lock "${key:-k}"
  fair_waiters
}
fair_waiters() {
  local i
  for i in 1 2 3 4 5; do
    start_watched "w$i" dlock run -q --fair "${key:-k}" -- sh -c "echo $i >>order"
    wait_until has "$i" waiters "${key:-k}"
  done
}
served_in_order() {
  local i
  for i in 1 2 3 4 5; do [ "$(how_ended "w$i")" = "exit 0" ]; done
  [ "$(tr -d '\n' <order)" = 12345 ]
}
# After an outage the first to come were not there before it: one that frees the lock, and three that take it. They may pass
# those who are not back yet, but these keep their order.
fair_after() { # COMMAND that makes the outage
  local owner
  read -r owner _ < <(dlock acquire --ttl 60s "${key:-k}")
  fair_waiters
  "$@"
  dlock release --owner "$owner" "${key:-k}"
  for _ in 1 2 3; do dlock run -q -n "${key:-k}" -- true || [ $? = 75 ] || return; done
  served_in_order
}
fair_order() {
  fair_queue
  let_go
  served_in_order
  hold_lock "${key:-k}"
  start_watched first dlock run -q --fair "${key:-k}" -- true
  wait_until has 1 waiters "${key:-k}"
  started+=("$(keeper_of first)")
  kill -STOP "$(keeper_of first)"
  let_go
  run -75 dlock run -q -n --fair "${key:-k}" -- true
  run -0 dlock run -q -n "${key:-k}" -- true
  kill -CONT "$(keeper_of first)"
  [ "$(how_ended first)" = "exit 0" ]
}

# A holder whose connection is cut when it renews, the proxy in between; its next renewal is long after that.
revoked_after_a_cut() { # URL of the server
  local until
  start_watched a dlock run -q --ttl $((15 * slowness))s k -- sh -c 'touch begun; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e begun
  until=$(DLOCK_BACKEND=$1 ends)
  network cut requests 0
  DLOCK_BACKEND=$1 wait_until ends_otherwise "$until"
  run -0 dlock revoke -b "$1" --wait $((2 * slowness))s k
  [ "$(how_ended a)" = "exit 79" ]
}
ends() { dlock inspect --json k | jq -r '.holders[0].until'; }
ends_otherwise() { [ "$(ends)" != "$1" ]; }

# What --at-least keeps, and what --once remembers, is the store's; also if the server is gone when the command ends.
kept_over_restart() { # SERVER RESTART [OPTION...]
  local server=$1 restart=$2 key=${key:-k}
  shift 2
  run -0 dlock run --at-least 60s "$@" "$key" -- true
  kill_server "$server"
  "$restart" "$server"
  run -75 dlock run -q -n "$key" -- touch ran
  [ $# = 0 ] || run -0 dlock run -n "$@" "$key" -- touch ran
  run -0 dlock force-release --yes "$key"
  start_watched a dlock run --at-least 60s "$key" -- sh -c 'echo $$ >began; until [ -e end ]; do sleep 0.1; done'
  wait_until filled began
  kill_server "$server"
  touch end
  [ "$(how_ended a)" = "exit 0" ]
  "$restart" "$server"
  run -75 dlock run -q -n "$key" -- touch ran
  [ ! -e ran ]
}
