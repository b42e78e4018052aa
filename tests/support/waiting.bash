# SPDX-License-Identifier: Apache-2.0
# How tests and their servers wait for a condition: by asking again, with little of the processor's time in between.

patience=${patience:-20}                                                       # seconds; only a failing test waits that long
start_patience=${start_patience:-$((60 * ${DLOCK_TEST_SLOWNESS:-1}))} # for a server that starts

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

# Sleeps on a pipe in which nothing ever comes: no process for each time. It is made here, because its process takes $!.
[ "${nothing:-}" ] || exec {nothing}<> <(:)
nap() { # MICROSECONDS: half a second at most
  local pause=$(($1 < 500000 ? $1 : 500000))
  printf -v pause '0.%06d' "$pause"
  read -r -t "$pause" -u "$nothing" || true
}

# As cat and head, for a file of one line, without a process.
first_line() { # FILE
  local line
  read -r line <"$1" || [ "$line" ] || return
  echo "$line"
}

# A process that nobody has waited for yet counts as ended: a shell sees its child's end late, or never.
ended() { ! look_at_process "$1" || [ "$state" = Z ]; } # PID
# Sets $state to the letter of its state; fails when it is gone.
look_at_process() { # PID
  read -r state 2>/dev/null <"/proc/$1/stat" || return
  state=${state##*) }
  state=${state:0:1}
}

# Whether FILE has the word N times or more.
says() { # FILE WORD N
  local said n
  IFS= read -r -d '' said <"$1" || true
  for ((n = 0; n < $3; n++)); do
    [[ $said == *"$2"* ]] || return
    said=${said#*"$2"}
  done
}

# Whether the log says what the PATTERN is for; a look starts no process.
log_says() { # LOG PATTERN
  local said
  IFS= read -r -d '' said <"$1" || true
  [[ $said =~ $2 ]]
}

# Waits for the log of a server that starts; fails when the process has ended, or takes longer than a server may.
wait_for_log() { # PID LOG PATTERN
  local end=$((SECONDS + start_patience))
  until log_says "$2" "$3"; do
    if ended "$1"; then return 1; fi
    [ "$SECONDS" -lt "$end" ] || { echo "the server of $2 does not come up in $start_patience s" >&2; return 1; }
    nap 5000
  done
}
