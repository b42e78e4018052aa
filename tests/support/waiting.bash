# SPDX-License-Identifier: Apache-2.0
# How tests and their servers wait for a condition: by asking again, with little of the processor's time in between.

patience=${patience:-20} # seconds; only a failing test waits that long

# Polls until the command succeeds: every 20 ms, or as seldom as makes the polls a quarter of the time.
wait_until() {
  local end=$((SECONDS + patience)) began=${EPOCHREALTIME/[.,]/}
  until "$@"; do
    if [ "$SECONDS" -ge "$end" ]; then
      echo "waited $patience s for: $*" >&2
      return 1
    fi
    nap $((20000 + 3 * (${EPOCHREALTIME/[.,]/} - began)))
    began=${EPOCHREALTIME/[.,]/}
  done
}

# Sleeps on a pipe in which nothing ever comes: no process for each time.
nap() { # MICROSECONDS: half a second at most
  local pause=$(($1 < 500000 ? $1 : 500000))
  [ "${nothing:-}" ] || exec {nothing}<> <(:)
  printf -v pause '0.%06d' "$pause"
  read -r -t "$pause" -u "$nothing" || true
}

# A process that nobody has waited for yet counts as ended: a shell sees its child's end late, or never.
ended() { ! kill -0 "$1" 2>/dev/null || [ "$(process_state "$1")" = Z ]; } # PID
process_state() {                                                          # PID
  local line
  while read -r line; do
    case $line in State:*) line=${line#*$'\t'}; echo "${line:0:1}"; return ;; esac
  done 2>/dev/null <"/proc/$1/status"
}

# Whether the log says what the PATTERN is for; a look starts no process.
log_says() { # LOG PATTERN
  local said
  IFS= read -r -d '' said <"$1" || true
  [[ $said =~ $2 ]]
}

# Waits for the log of a server that starts; fails when the process has ended.
wait_for_log() { # PID LOG PATTERN
  until log_says "$2" "$3"; do
    if ended "$1"; then return 1; fi
    nap 5000
  done
}
