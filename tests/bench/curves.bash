# SPDX-License-Identifier: Apache-2.0
# Cost as work grows: more waiters for one key, more keys that are held at the same time, more segments of a stock, more
# requests that a stock has kept. One line a store. Whatever is added, the cost of one hand-over, lock or take has to be
# the same: `flat`, the highest figure is at most twice the middle one. What tells of all of them may be `linear`: it grows
# by no more than half as much again as they do.
# Sourced: redis.bash's functions; own, stage, quick, missed and until_held are those of scripts/bench.
# shellcheck disable=SC2154

curves_rows() {
  local DLOCK_BACKEND store
  export DLOCK_BACKEND
  : >"$stage/curves.json"
  curves_start
  curve_head 'waiters: end of one to start of next, µs' 2 16 64 256 1000
  for store in "${curve_stores[@]}"; do curves_of_waiters "$store"; done
  curve_head 'keys held: p50 of lock + unlock, µs' 1 100 1000 10000
  for store in "${curve_stores[@]}"; do curves_of_keys "$store"; done
  curves_of_several linear 'keys held' inspect-of-all metrics gc
  curve_at=(10 100 1000 5000)
  for store in "${curve_stores[@]}"; do curves_of_crowds "$store"; done
  curves_of_several flat 'others wait' joins hand-over
  curves_of_several linear 'others wait' inspect
  curve_head 'segments: dlock stock take, µs' 1 20 100 1000
  for store in "${curve_stores[@]}"; do curves_of_segments "$store"; done
  curve_head 'requests kept: a take in a batch, µs' 100 1000 10000 100000
  for store in "${curve_stores[@]}"; do curves_of_requests "$store"; done
  kill_redis curves
  kill_server curvesdb
  kill_server curveszk
}

curve_stores=(local redis mysql zookeeper)
curves_start() {
  start_redis curves --maxclients 4000
  own+=("$(pid_of_redis curves)")
  start_mysql curvesdb --innodb-buffer-pool-size=128M --innodb-log-file-size=128M --innodb-flush-method=fsync --max-connections=2500
  own+=("$(pid_of_server curvesdb)")
  dlock setup -b "$(mysql_url curvesdb owner)" >/dev/null
  start_zookeeper curveszk forceSync=no maxClientCnxns=0 maxSessionTimeout=3600000
  own+=("$(pid_of_server curveszk)")
}

curve_url() { # STORE
  case $1 in
    local) echo "local:$stage/curves?sync=normal" ;;
    redis) redis_url curves ;;
    mysql) mysql_url curvesdb ;;
    zookeeper) zookeeper_url curveszk ;;
  esac
}

# --- a curve ---------------------------------------------------------------------------------------------------------

declare -A several=() # FIGURE of STORE -> values
curve_at=() curve_title='' curve_bound=flat
curve_head() { # TITLE X...
  curve_title=$1 curve_at=("${@:2}")
  say '\n'
  curve_line "$1" verdict "${curve_at[@]}"
  curve_line --- --- "${curve_at[@]/*/---}"
}

curve_line() { # WHAT VERDICT FIGURE...: as many as could be had
  local i line
  line=$(printf '| %-42s |' "$1")
  for ((i = 3; i < 3 + ${#curve_at[@]}; i++)); do line+=$(printf ' %9s |' "${!i-}"); done
  say '%s %-7s |\n' "$line" "$2"
}

curve() { # STORE FIGURE...
  local verdict
  verdict=$("$curve_bound" "${@:2}")
  [ "$verdict" != MISS ] || missed=1
  curve_line "$1" "$verdict" "${@:2}"
  jq -cn --arg curve "$curve_title" --arg store "$1" --arg at "${curve_at[*]}" --arg figures "${*:2}" \
    '{$curve, $store, points: [$at / " ", $figures / " "] | transpose | map(select(.[1]) | map(tonumber))}' >>"$stage/curves.json"
}

# By so much the highest one may be above the middle one: what is added costs little or nothing.
flat() { # FIGURE...
  printf '%s\n' "$@" | sort -n | awk '{ y[NR] = $1 } END { print y[NR] <= 2 * y[int((NR + 1) / 2)] ? "flat" : "MISS" }'
}
linear() { # FIGURE...
  paste <(printf '%s\n' "${curve_at[@]:0:$#}") <(printf '%s\n' "$@") |
    awk 'NR > 1 && $2 / y > 1.5 * $1 / x { steep = 1 } { x = $1; y = $2 } END { print steep ? "MISS" : "linear" }'
}

# Curves that were measured together.
curves_of_several() { # BOUND OF-WHAT FIGURE...
  local figure store
  curve_bound=$1
  for figure in "${@:3}"; do
    curve_head "$2: $figure, µs" "${curve_at[@]}"
    # shellcheck disable=SC2086
    for store in "${curve_stores[@]}"; do curve "$store" ${several[$figure of $store]}; done
  done
  curve_bound=flat
}

# The middle one of five.
µs_of() { # COMMAND...
  local begin _
  for _ in 1 2 3 4 5; do
    begin=${EPOCHREALTIME/./}
    "$@" >/dev/null
    echo $((${EPOCHREALTIME/./} - begin))
  done | sort -n | sed -n 3p
}

# The last figure takes longer than all others together: --quick leaves it out.
up_to() { # X: is it wanted
  [ ! "$quick" ] || [ "$1" != "${curve_at[-1]}" ]
}

# --- what is measured ------------------------------------------------------------------------------------------------

# Each waiter is two processes of this machine, whose work to start and to end a thousand of is more than that of the
# server: only stores that are asked by programs without libraries are given so many.
most_waiters() { case $1 in local | redis) echo 1000 ;; *) echo 256 ;; esac; } # STORE

# From the end of a command to the start of the next one; 32 hand-overs at the least.
curves_of_waiters() { # STORE
  local waiters figures=() most
  most=$(most_waiters "$1")
  DLOCK_BACKEND=$(curve_url "$1")
  in_order=(--fair)
  for waiters in "${curve_at[@]}"; do
    if [ "$waiters" -gt "$most" ] || ! up_to "$waiters"; then break; fi
    : >"$stage/took"
    while [ "$(wc -l <"$stage/took")" -lt 32 ]; do
      chain "$waiters" "$stage/stamps"
      hand_overs_of "$stage/stamps" >>"$stage/took"
    done
    figures+=("$(median_of "$stage/took" | cut -d. -f1)")
  done
  in_order=()
  curve "$1" "${figures[@]}"
}

# The middle one of three runs.
bench_p50() { # PATH-IN-JSON OPTION...
  local _
  for _ in 1 2 3; do dlock bench --json "${@:2}" | jq "$1.p50_ms * 1000 | round"; done | sort -n | sed -n 2p
}

# A lease on this machine has a process, and one process can have many locks; on a server it is the other way round.
take_keys() { # STORE FROM TO
  if [ "$1" != local ]; then
    seq -f 'crowd/%.0f' "$2" "$3" | xargs -r -P 4 -n 1 dlock acquire --ttl 20m >/dev/null
    return
  fi
  local from
  for ((from = $2; from <= $3; from += 100)); do # crowd is the caller's
    # shellcheck disable=SC2046
    dlock run $(seq -f 'crowd/%.0f' "$from" $((from + 99))) -- sleep 1000 & crowd+=("$!")
    until_held "crowd/$((from + 99))"
  done
}

curves_of_keys() { # STORE
  local keys held=0 figures=() figure crowd=()
  DLOCK_BACKEND=$(curve_url "$1")
  for keys in "${curve_at[@]}"; do
    up_to "$keys" || break
    [ "$keys" = 1 ] || take_keys "$1" "$held" $((keys - 1))
    [ "$keys" = 1 ] || held=$keys
    figures+=("$(bench_p50 .alone.lock_unlock)")
    for figure in inspect-of-all metrics gc; do several[$figure of $1]+=" $(µs_of dlock "${figure%-of-all}")"; done
  done
  [ ${#crowd[@]} = 0 ] || kill "${crowd[@]}"
  wait "${crowd[@]}" 2>/dev/null || true
  curve "$1" "${figures[@]}"
}

# Others who wait for the same lock, behind those of a chain. Servers that keep a record of each get records alone; elsewhere
# each of them is a process.
most_others() { case $1 in local) echo 1000 ;; mysql) echo 100 ;; *) echo 5000 ;; esac; } # STORE

curves_of_crowds() { # STORE
  local others
  DLOCK_BACKEND=$(curve_url "$1")
  in_order=(--fair)
  for others in "${curve_at[@]}"; do
    if [ "$others" -gt "$(most_others "$1")" ] || ! up_to "$others"; then break; fi
    chain 8 "$stage/stamps" crowd_of "$1" "$others"
    hand_overs_of "$stage/stamps" >"$stage/took"
    several[hand-over of $1]+=" $(median_of "$stage/took" | cut -d. -f1)"
    crowd_goes "$1"
  done
  in_order=()
}

crowd_pids=()
crowd_of() { # STORE OTHERS
  local i
  case $1 in
    redis)
      redis_cli curves eval "for i = 1, $2 do
        redis.call('ZADD', KEYS[1], 9e15 + i, i)
        redis.call('HSET', KEYS[2], i, '9000000000000 0 x 0 host')
      end" 2 'dlock:{chain}:queue' 'dlock:{chain}:waiting' >/dev/null
      ;;
    zookeeper)
      [ -e "$stage/crowd" ] || mkfifo "$stage/crowd"
      /usr/bin/python3 -E tests/support/kazoo_peer.py "127.0.0.1:$(port_of curveszk)" 5000 <>"$stage/crowd" >/dev/null & crowd_pids=("$!")
      echo "queue /chain $2" >"$stage/crowd"
      ;;
    *) for ((i = 0; i < $2; i++)); do dlock run --fair --quiet chain -- true & crowd_pids+=("$!"); done ;;
  esac
  own+=("${crowd_pids[@]}")
  until [ "$(dlock inspect --json chain | jq '(.waiters | length) + (.more_waiters // 0)')" = $((8 + $2)) ]; do sleep 0.1; done
  several[joins of $1]+=" $(µs_of joins)"
  several[inspect of $1]+=" $(µs_of dlock inspect chain)"
}

# Until it says that it is queued. It is ended then: one that gives up looks at all others to say how many they are.
joins() {
  local said
  exec {said}< <(exec dlock run --fair -v chain -- true 2>&1)
  grep -qm 1 queued <&"$said"
  kill "$!"
  exec {said}<&-
}

crowd_goes() { # STORE
  case $1 in
    redis) redis_cli curves del 'dlock:{chain}:queue' 'dlock:{chain}:waiting' >/dev/null ;;
    zookeeper) kill "${crowd_pids[@]}" ;;
  esac
  dlock wait --quiet chain
  wait "${crowd_pids[@]}" 2>/dev/null || true
  crowd_pids=()
}

curves_of_segments() { # STORE
  local segments begin figures=() rounds=50
  DLOCK_BACKEND=$(curve_url "$1")
  for segments in "${curve_at[@]}"; do
    dlock stock create "curve$segments" --quantity 100000 --segments "$segments" >/dev/null
    for ((i = 0; i < rounds; i++)); do
      begin=${EPOCHREALTIME/./}
      dlock stock take "curve$segments" >/dev/null
      echo $((${EPOCHREALTIME/./} - begin))
    done >"$stage/took"
    figures+=("$(median_of "$stage/took")")
    dlock stock drop --yes "curve$segments" >/dev/null
  done
  curve "$1" "${figures[@]}"
}

# The middle one of three times 300 more, when so many are kept. A server of Java has compiled its way through a take before.
curves_of_requests() { # STORE
  local requests more kept=0 most=100000 figures=()
  DLOCK_BACKEND=$(curve_url "$1")
  [ "$1" != zookeeper ] || most=10000
  dlock stock create kept --quantity 10000 --segments 20 >/dev/null
  take_batch 0 3000
  dlock stock drop --yes kept >/dev/null
  dlock stock create kept --quantity 1000000 --segments 20 >/dev/null
  for requests in "${curve_at[@]}"; do
    if [ "$requests" -gt "$most" ] || ! up_to "$requests"; then break; fi
    take_batch "$kept" "$requests"
    kept=$((requests + 900))
    figures+=("$(for more in 0 300 600; do time_of_batch $((requests + more)); done | sort -n | sed -n 2p)")
  done
  curve "$1" "${figures[@]}"
}

time_of_batch() { # FROM: µs each of 300 takes
  local begin=$EPOCHREALTIME
  take_batch "$1" $(($1 + 300))
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.0f\n", (b - a) / 300 * 1e6 }'
}

take_batch() { # FROM TO
  [ "$1" -ge "$2" ] || seq -f 'take kept-%.0f' "$1" "$(($2 - 1))" | dlock stock batch kept >/dev/null
}
