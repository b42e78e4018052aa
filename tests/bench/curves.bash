# SPDX-License-Identifier: Apache-2.0
# Cost as work grows: how it changes with more waiters, more keys that are held at the same time, more segments of a stock.
# Figures of dlock alone, without goals. Sourced: own and stage are those of scripts/bench.
# shellcheck disable=SC2154

curves_rows() {
  local DLOCK_BACKEND
  printf '| %-42s | %9s | %9s | %9s | %9s |\n' 'waiters: p50 of a hand-over, µs' 2 16 64 256
  export DLOCK_BACKEND=local:$stage/curves
  curves_of_waiters local
  start_redis curves
  own+=("$(pid_of_redis curves)")
  DLOCK_BACKEND=$(redis_url curves) curves_of_waiters redis
  printf '| %-42s | %9s | %9s | %9s | %9s |\n' 'keys held: p50 of lock + unlock, µs' 1 100 1000 10000
  curves_of_keys local
  DLOCK_BACKEND=$(redis_url curves) curves_of_keys redis
  printf '| %-42s | %9s | %9s | %9s | %9s |\n' 'segments: dlock stock take, µs' 1 20 100 1000
  curves_of_segments local
  DLOCK_BACKEND=$(redis_url curves) curves_of_segments redis
  kill_redis curves
}

curve() { printf '| %-42s | %9s | %9s | %9s | %9s |\n' "$@"; }

bench_p50() { # PATH-IN-JSON OPTION...
  dlock bench --json "${@:2}" | jq "$1.p50_ms * 1000 | round"
}

curves_of_waiters() { # NAME
  local waiters figures=()
  for waiters in 2 16 64 256; do figures+=("$(bench_p50 .contended.hand_over --processes "$waiters")"); done
  curve "$1" "${figures[@]}"
}

# A lease on this machine has a process, and one process can have many locks; in Redis it is the other way round.
take_keys_local() { # FROM TO
  local from
  for ((from = $1; from <= $2; from += 100)); do
    # shellcheck disable=SC2046
    dlock run $(seq -f 'crowd/%.0f' "$from" $((from + 99))) -- sleep 1000 & own+=("$!")
    until_held "crowd/$((from + 99))"
  done
}
take_keys_redis() { seq -f 'crowd/%.0f' "$1" "$2" | xargs -r -P 4 -n 1 dlock acquire --ttl 1h >/dev/null; } # FROM TO

curves_of_keys() { # NAME
  local keys held=0 figures=()
  for keys in 1 100 1000 10000; do
    [ "$keys" = 1 ] || "take_keys_$1" "$held" $((keys - 1))
    [ "$keys" = 1 ] || held=$keys
    figures+=("$(bench_p50 .alone.lock_unlock)")
  done
  curve "$1" "${figures[@]}"
}

curves_of_segments() { # NAME
  local segments begin figures=()
  for segments in 1 20 100 1000; do
    dlock stock create "curve$segments" --quantity 100000 --segments "$segments" >/dev/null
    begin=$EPOCHREALTIME
    for _ in {1..200}; do dlock stock take "curve$segments" >/dev/null; done
    figures+=("$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.0f", (b - a) / 200 * 1e6 }')")
    dlock stock drop --yes "curve$segments" >/dev/null
  done
  curve "$1" "${figures[@]}"
}
