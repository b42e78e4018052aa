# SPDX-License-Identifier: Apache-2.0
# The rows of scripts/bench for Redis, with a server of their own. Sourced: row, until_held, memory_of, quotient, own,
# stage, programs, rounds are those of scripts/bench.
# shellcheck disable=SC2154
# shellcheck source=tests/support/redis.bash
. tests/support/redis.bash

redis_rows() {
  start_redis bench --maxclients 4000
  own+=("$(pid_of_redis bench)")
  local DLOCK_BACKEND
  DLOCK_BACKEND=$(redis_url bench)
  export DLOCK_BACKEND
  redis_start_up
  inner_run
  redis_requests
  redlock_requests
  local waiters
  in_order=(--fair)
  for waiters in 2 64; do hand_over "$waiters" "$programs/moments" round-trips "$(port_of bench)" 50; done
  for waiters in 2 1000; do redis_requests_of_hand_over "$waiters"; done
  in_order=()
  once_a_period
  once_that_ran
  revoke_to_start "$programs/moments" round-trips "$(port_of bench)" 50
  kept_memory
  kept_idle
  kill_redis bench
}

# --- from spawn to exit ----------------------------------------------------------------------------------------------

against() { # WHAT GOAL ROUNDS THEIR-NAME THEIR-COMMAND...
  local ours theirs ratio
  # The last line is the figure; the commands may speak before.
  read -r ours theirs ratio < <("$programs/spawn_pairs" "$3" dlock run k -- true --- "${@:5}" | tail -n 1)
  row "$1" "$2" "$ours µs" "$4: $theirs µs" "$ratio"
}

redis_start_up() {
  local port
  port=$(port_of bench)
  against 'redis: dlock run k -- true' '<= 0.75' "$rounds" 'redis-cli SET NX PX' redis-cli -p "$port" SET other v NX PX 30000
  against 'redis: dlock run k -- true' '<= 1.8' "$rounds" 'flock FILE true' flock "$stage/flock" true
}

# --- what the server is asked ----------------------------------------------------------------------------------------

# Copies what clients send into a file until `monitored`. What scripts call is no request, and neither is what greets a
# server in the same write as the first request, nor our own looks.
monitor() { # FILE
  monitored=$1
  rm -f "$monitored" # what an earlier one wrote would pass for its first line
  stdbuf -oL redis-cli -p "$(port_of bench)" MONITOR >"$monitored" &
  monitor_pid=$!
  until [ -s "$monitored" ]; do sleep 0.1; done
}

requests() { # [FILTER]: prints how many
  local count
  sleep 0.2
  kill "$monitor_pid"
  wait "$monitor_pid" 2>/dev/null || true
  count=$(grep -aE '^[0-9]+\.[0-9]+ \[' "$monitored" | "${1:-cat}" | grep -av ' lua\] ' |
    grep -caviE '\] "(client" "setname|select|auth|hello|ping|monitor|zcard|command)') || { echo 'bench: the monitor saw no request' >&2; exit 1; }
  echo "$count"
}

redis_requests() {
  local count
  monitor "$stage/monitor"
  dlock run k -- true
  count=$(requests)
  row 'redis: requests of dlock run k -- true' '<= 2' "$count" '' "$count"
  monitor "$stage/monitor"
  dlock run k -- dlock run k -- true
  count=$(requests)
  row 'redis: requests of the same with a run inside' '<= 2' "$count" '' "$count"
}

redlock_requests() {
  local count server url
  for server in bench2 bench3; do
    start_redis "$server"
    own+=("$(pid_of_redis "$server")")
  done
  url=redlock://127.0.0.1:$(port_of bench),127.0.0.1:$(port_of bench2),127.0.0.1:$(port_of bench3)
  sleep 3 # a server that runs for less than the ttl and a second is asked again
  monitor "$stage/monitor"
  dlock run -b "$url" --ttl 1s quorum -- true
  count=$(requests)
  row 'redlock: requests to each server' '<= 2' "$count" '' "$count"
  for server in bench2 bench3; do kill_redis "$server"; done
}

# One holder, and N that wait for it in the queue; then each holds for 8 ms and hands over to the next.
in_order=() # the option that makes waiters queue, where they do not anyway
chain() {    # WAITERS STAMPS [COMMAND...]: runs COMMAND when all of them wait
  local count=$1 stamps=$2 i end pids=()
  shift 2
  rm -f "$stamps" "$stage/gate"
  mkfifo "$stage/gate"
  dlock run chain -- "$programs/moments" stamp "$stamps" "$stage/gate" & pids+=($!)
  until_held chain
  for ((i = 0; i < count; i++)); do
    dlock run "${in_order[@]}" --quiet chain -- "$programs/moments" stamp "$stamps" & pids+=($!)
  done
  end=$((SECONDS + 120))
  until [ "$(dlock inspect --json chain | jq '.waiters | length')" = "$count" ]; do
    [ "$SECONDS" -lt "$end" ] || { echo "bench: $count waiters did not come within 120 s" >&2; exit 1; }
    sleep 0.02
  done
  # The last of them has gone to sleep.
  sleep 0.3
  "$@"
  : >"$stage/gate"
  wait "${pids[@]}"
}

# From the end of one to the beginning of the next, in µs, a line each.
hand_overs_of() { sort -n "$1" | awk 'NR > 1 { printf "%.1f\n", $1 - last } { last = $2 }'; }

median_of() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

hand_over() { # WAITERS TRIPS...: the command prints what the messages of a hand-over cost, a line each
  local count=$1 goal chains i start trip
  case $backend-$count in
    redis-2) goal='<= 1.6' ;;
    redis-*) goal='<= 1.8' ;;
    *) goal='<= 1.9' ;;
  esac
  chains=$((rounds / 20 / count))
  local least=$((count < 12 ? 24 / count : 2)) # two dozen hand-overs
  [ "$chains" -ge "$least" ] || chains=$least
  : >"$stage/took" && : >"$stage/starts" && : >"$stage/trips"
  for ((i = 0; i < chains; i++)); do
    "$programs/moments" starts 20 >>"$stage/starts"
    "${@:2}" >>"$stage/trips"
    chain "$count" "$stage/stamps"
    hand_overs_of "$stage/stamps" >>"$stage/took"
  done
  start=$(median_of "$stage/starts") trip=$(median_of "$stage/trips")
  local took against
  took=$(median_of "$stage/took")
  against=$(awk -v a="$start" -v b="$trip" 'BEGIN { printf "%.1f", a + b }')
  row "$backend: end of one to start of next, $count wait" "$goal" "$took µs" "messages + start: $against µs" \
    "$(quotient "$took" "$against")"
}

few_requests= # a hand-over with 2 waiters
redis_requests_of_hand_over() { # WAITERS
  local count=$1 sum each
  chain "$count" "$stage/stamps" monitor "$stage/monitor"
  sum=$(requests without_timers)
  each=$(quotient "$sum" "$count")
  if [ "$few_requests" ]; then
    row "redis: requests a hand-over, $count wait" "<= $(awk -v n="$few_requests" 'BEGIN { print n + 0.1 }')" "$each" \
      "with 2 waiting: $few_requests" "$each"
  else
    few_requests=$each
    row "redis: requests a hand-over, $count wait" '<= 3' "$each" '' "$each"
  fi
}

# A waiter looks every few seconds, whatever is handed over: a chain that takes longer has more of that. So what comes on
# a connection that was silent for half a second, from a waiter that was sent no message, does not count.
without_timers() {
  awk '
    function owner_of(text) { return match(text, /:wake:(" ")?[0-9a-f]+/) ? substr(text, RSTART + RLENGTH - 32, 32) : "" }
    $3 == "lua]" { if ($4 == "\"PUBLISH\"") told[owner_of($5)] = 1; next }
    { owner = owner_of($0) }
    owner in told || $3 in last && $1 - last[$3] < 0.5
    { last[$3] = $1; delete told[owner] }'
}

# --- once per period, and in the place of another --------------------------------------------------------------------

once_a_period() {
  local count
  monitor "$stage/monitor"
  dlock run --at-least 1m least -- true
  count=$(requests)
  row 'redis: requests of dlock run --at-least' '<= 3' "$count" 'one more than a release' "$count"
}

once_that_ran() {
  local ours theirs ratio busy
  dlock run --once slot once -- true
  dlock run busy -- sleep 1000 & busy=$!
  own+=("$busy")
  until_held busy
  read -r ours theirs ratio < <("$programs/spawn_pairs" "$rounds" dlock run -q --once slot once -- true \
    --- dlock run -q -n -E 0 busy -- true | tail -n 1)
  row "$backend: --once of a slot that has run" '<= 1.05' "$ours µs" "-n on a busy lock: $theirs µs" "$ratio"
  kill "$busy"
  wait "$busy" 2>/dev/null || true
}

# From the start of `dlock revoke` to that of the next command; the one that is asked ends at once. Two processes start,
# and five questions follow each other: who holds it, the word, the holder's look, its release, the next one's grant.
revoke_to_start() { # TRIPS...: the command prints what a question costs, a line each
  local i pids start trip took against
  : >"$stage/took" && : >"$stage/starts" && : >"$stage/trips"
  for ((i = 0; i < 24; i++)); do
    rm -f "$stage/asked" "$stage/next"
    "$programs/moments" starts 20 >>"$stage/starts"
    "$@" >>"$stage/trips"
    dlock run -q revoked -- sleep 1000 2>/dev/null & pids=($!)
    until_held revoked
    dlock run -q revoked -- "$programs/moments" stamp "$stage/next" & pids+=($!)
    until [ "$(dlock inspect --json revoked | jq '.waiters | length')" = 1 ]; do sleep 0.1; done
    sleep 0.3
    "$programs/moments" stamp "$stage/asked"
    dlock revoke revoked >/dev/null
    wait "${pids[@]}" || true # the first one with 79
    awk 'NR == FNR { asked = $2; next } { printf "%.1f\n", $1 - asked }' "$stage/asked" "$stage/next" >>"$stage/took"
  done
  start=$(median_of "$stage/starts") trip=$(median_of "$stage/trips") took=$(median_of "$stage/took")
  against=$(awk -v a="$start" -v b="$trip" 'BEGIN { printf "%.1f", 2 * a + 5 * b }')
  row "$backend: revoke to the start of the next" '<= 1.9' "$took µs" "messages + starts: $against µs" \
    "$(quotient "$took" "$against")"
}

# --- while it is held ------------------------------------------------------------------------------------------------

kept_memory() {
  local holder waiter sum
  dlock run memory -- sleep 1000 & holder=$!
  until_held memory
  dlock run --quiet memory -- true & waiter=$!
  own+=("$holder" "$waiter")
  sleep 0.5
  sum=$(memory_of "$holder" "$(keeper_of "$holder")")
  row "$backend: memory of a holder and its keeper" '<= 12288' "$sum kB" 'in kB, 12 MB' "$sum"
  sum=$(memory_of "$waiter" "$(keeper_of "$waiter")")
  row "$backend: memory of a waiter and its keeper" '<= 12288' "$sum kB" 'in kB, 12 MB' "$sum"
  kill "$waiter" "$holder"
  wait "$waiter" "$holder" 2>/dev/null || true
}

keeper_of() { pgrep -P "$1" -x "dlock-$backend"; }

# Five holders that renew at different times: one that is woken right after another one finds warm caches. Whole renewals,
# and the looks of the supervisors between them. The median of the five: what a hypervisor takes while one of them runs is
# counted as theirs.
kept_idle() {
  local pids=() pid befores=() after i seconds=$((idle_seconds < 20 ? 30 : 60))
  for i in 1 2 3 4 5; do
    dlock run "idle$i" -- sleep 1000 & pids+=($!)
    sleep 2
  done
  own+=("${pids[@]}")
  until_held idle5
  sleep 11 # the first renewal has more to do
  for pid in "${pids[@]}"; do befores+=("$(kept_ns "$pid")"); done
  sleep "$seconds"
  for i in "${!pids[@]}"; do
    after=$(kept_ns "${pids[i]}")
    awk -v ns=$((after - befores[i])) -v s="$seconds" 'BEGIN { printf "%.3f\n", ns / 1e6 * 60 / s }'
  done >"$stage/idle"
  row "$backend: processor time of an idle holder" '<= 5' "of 5, over $seconds s" 'in ms a minute, with its keeper' \
    "$(median_of "$stage/idle")"
  kill "${pids[@]}"
  wait "${pids[@]}" 2>/dev/null || true
}

kept_ns() { echo $(($(cpu_ns "$1") + $(cpu_ns "$(keeper_of "$1")"))); } # PID of a holder
