# SPDX-License-Identifier: Apache-2.0
# For tests of the program from outside: `load ../support/cli`. Each test has a lock directory, a HOME and a working
# directory of its own, starts its processes with `start` and waits for conditions, never for time to pass.
bats_require_minimum_version 1.5.0
root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
support=$root/tests/support
DLOCK=${DLOCK:-${DLOCK_BUILD:-$root/build/ci}/bin/dlock}
programs=${DLOCK%/bin/dlock}/tests # of tests/support/programs and tests/verify

# Python programs here import nothing but its own library; -S -E keeps them fast and deaf to the caller's settings.
python=(/usr/bin/python3 -S -E -B) # and nothing is written beside what it runs

set_world() {
  # Where the test servers are is for the test to know; dlock would call it an unknown setting.
  local settings=("${!DLOCK_@}")
  export -n NO_COLOR "${!DLOCK_TEST_@}"
  # shellcheck disable=SC2048,SC2086 # what is empty is not a name
  unset ${settings[*]/#DLOCK_TEST_*/} "${!XDG_@}" NO_COLOR
  [ -x "$DLOCK" ] || { echo "there is no $DLOCK: cmake --preset ci && cmake --build --preset ci" >&2; return 1; }
  locks=$BATS_TEST_TMPDIR/locks
  mkdir -m 700 "$locks" "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/work"
  ln -s "$DLOCK" "$BATS_TEST_TMPDIR/bin/dlock"
  export DLOCK_BACKEND=local:$locks HOME=$BATS_TEST_TMPDIR PATH=$BATS_TEST_TMPDIR/bin:$PATH LC_ALL=C.UTF-8 TERM=xterm
  started=() holder=
  cd "$BATS_TEST_TMPDIR/work" || return
}

# Ends what the test started, by process id: the jobs of `start`, and those that wrote their id into a *.pid file.
end_world() {
  local pid file
  for file in "$BATS_TEST_TMPDIR"/work/*.pid; do
    pid=
    read -r pid 2>/dev/null <"$file" || true # of a last line without its end, too
    [ ! "$pid" ] || started+=("$pid")
  done
  for pid in "${started[@]}" ${holder:+"$holder"}; do
    ours "$pid" || continue
    disown "$pid" 2>/dev/null || true # its shell shall not write about it
    kill -CONT "$pid" 2>/dev/null || true
    kill -KILL "$pid" 2>/dev/null || true
  done
}

# A pid from long ago may belong to somebody else by now: only processes that live in this test's world are ended. (A
# Redis server writes its title over its environment.)
ours() {
  local environment
  ! ended "$1" || return
  mapfile -d '' -t environment 2>/dev/null <"/proc/$1/environ" || environment=()
  [[ "${environment[*]}" == *"HOME=$BATS_TEST_TMPDIR"* || $(readlink "/proc/$1/cwd") == "$BATS_TEST_TMPDIR"/* ]]
}

# An executable file in PATH: script NAME < TEXT. Its working directory is the test's.
script() {
  local text
  IFS= read -r -d '' text || true
  printf %s "$text" >"$BATS_TEST_TMPDIR/bin/$1"
  chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

# Commands that tell what reaches them.
script_victims() {
  # note NAME: writes its id into NAME.pid and "NAME TERM" into `got` when told to end; obeys, with status 0.
  script note <<'SCRIPT'
#!/bin/bash
trap 'echo "$1 TERM" >>got; exit 0' TERM
trap 'echo "$1 USR1" >>got' USR1
echo $$ >"$1.pid"
until [ -e finish ]; do sleep 0.1; done
exit 9
SCRIPT
  # stubborn NAME: the same, but does not end.
  script stubborn <<'SCRIPT'
#!/bin/bash
trap 'echo "$1 TERM" >>got' TERM
echo $$ >"$1.pid"
while :; do sleep 0.1; done
SCRIPT
}

# work NAME [FLAG]: writes NAME.pid, then runs until the file FLAG (default: go) is there.
script_work() {
  script work <<'SCRIPT'
#!/bin/bash
echo $$ >"$1.pid"
until [ -e "${2:-go}" ]; do sleep 0.1; done
SCRIPT
}

# install_keeper PROGRAM: a dlock of the test's own whose dlock-redis is this one of tests/support/programs.
install_keeper() {
  local prefix=$BATS_TEST_TMPDIR/prefix
  mkdir -p "$prefix/bin" "$prefix/libexec/dlock"
  cp "$DLOCK" "$prefix/bin/dlock"
  cp "$programs/$1" "$prefix/libexec/dlock/dlock-redis"
  PATH=$prefix/bin:$PATH
}

# --- servers ---------------------------------------------------------------------------------------------------------

# In a setup, or in the tests that need one of scripts/start-test-servers.
need_servers() { [ "${DLOCK_TEST_SERVERS-}" ] || skip "no servers: scripts/start-test-servers /tmp/s && . /tmp/s/env"; }

# --- other users -----------------------------------------------------------------------------------------------------

# Runs as a user without rights, on this test's files.
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- env "HOME=$BATS_TEST_TMPDIR/nowhere" "$@"; }
need_root() { [ "$(id -u)" = 0 ] || skip "needs root to become another user"; }
# Lets that user into this test's world, with a copy of the program: its own folder may be closed to them.
open_world() {
  chmod 755 "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR"/{bin,work}
  cp --remove-destination "$(realpath "$DLOCK")" "$BATS_TEST_TMPDIR/bin/dlock"
}

# --- waiting ---------------------------------------------------------------------------------------------------------

# How many times as long as on a quiet machine windows of real time are (scripts/check measures it).
slowness=${DLOCK_TEST_SLOWNESS:-1}
patience=$((20 * slowness)) # seconds; only a failing test waits that long
# shellcheck source=tests/support/waiting.bash
. "$support/waiting.bash"

now_ms() {
  local up
  read -r up _ </proc/uptime
  echo "$((10#${up/./} * 10))"
}
filled() { [ -s "$1" ]; }
lines_in() { [ -e "$1" ] && says "$1" $'\n' "$2"; } # FILE N
in_state() { look_at_process "$1" && [[ $state == ["$2"] ]]; } # PID LETTERS

# How many holders or waiters KEY has: count holders KEY
count() { dlock inspect --json -- "$2" | "$programs/json_part" --count "/$1"; }
has() { [ "$(count "$2" "$3")" = "$1" ]; } # N holders|waiters KEY
is_held() { [ "$(count holders "$1")" -gt 0 ]; }
is_free() { [ "$(count holders "$1")" = 0 ]; }
holder_field() { dlock inspect --json -- "$1" | "$programs/json_part" "/holders/0/$2"; } # KEY FIELD

# --- processes -------------------------------------------------------------------------------------------------------

# Starts a command in the background, with INT and QUIT as a shell's foreground command has them. Its id is in $started_pid.
start() {
  "$programs/unshielded" "$@" 3>&- &
  started_pid=$!
  started+=("$started_pid")
}

# Runs or starts a command whose end is written to FILE, as "exit 7" or "signal 15". Its own id is in FILE.pid.
watched() { "$programs/watched" "$@"; }
start_watched() { # FILE COMMAND...
  local file=$1
  rm -f -- "$file" "$file.pid" # of the one before it
  start "$programs/watched" "$@"
  wait_until filled "$file.pid"
}
how_ended() { # FILE
  wait_until filled "$1" && first_line "$1"
}

# Holds KEY in the background until `let_go`: hold_lock [OPTION...] KEY. Returns when it is held.
hold_lock() {
  local fifo=$BATS_TEST_TMPDIR/holder
  [ ! -e "$fifo" ] || rm "$fifo" "$fifo.out"
  mkfifo "$fifo"
  dlock hold "$@" <"$fifo" >"$fifo.out" 3>&- &
  holder=$!
  exec {holder_stdin}>"$fifo"
  wait_until filled "$fifo.out"
  read -r holder_owner holder_token <"$fifo.out"
}

let_go() {
  exec {holder_stdin}>&-
  local pid=$holder
  holder=
  wait "$pid"
}

# A session on a terminal of its own; see terminal.py. Prints what was on the screen.
terminal() { "${python[@]}" "$support/terminal.py" "$@"; }

# --- critical sections and their history (tests/verify) ------------------------------------------------

# Makes the program section [--for SECONDS] [--stubborn]: it writes a line to "history" every 10 ms, also with --stubborn,
# which writes TERM and goes on, when it is asked to end.
script_section() {
  script section <<SCRIPT
#!/bin/sh
seconds=0.1 stubborn=
[ "\$1" != --for ] || { seconds=\$2; shift 2; }
[ "\$1" != --stubborn ] || stubborn=stubborn
exec "$programs/verify" section "$BATS_TEST_TMPDIR/work/history" \$\$ "\$seconds" \$stubborn
SCRIPT
}
history() { "$programs/verify" "$1" history "${@:2}"; }
begun() { [ -e history ] && says history BEGIN "$1"; } # N sections
# gap_below MS [--after N]: the gap behind the first section, or the Nth, is below MS on a quiet machine.
gap_below() {
  local gap
  gap=$(history gap "${@:2}")
  echo "gap: $gap ms"
  [ "$gap" -lt $(($1 * slowness)) ]
}

# shellcheck source=tests/support/mounts.bash
. "$support/mounts.bash"
# Runs COMMAND where no dlock is installed: the tests of the packages have one in /usr for a moment, beside ours.
uninstalled() {
  if mounts_apart; then
    "${apart[@]}" sh -c 'mount -t tmpfs none /usr/libexec && exec "$@"' sh "$@"
  else
    "$@"
  fi
}

# --- holders and waiters on a server ---------------------------------------------------------------------------------

use() { export DLOCK_BACKEND=$1; } # URL
pid_of() { first_line "$1.pid"; } # NAME of start_watched
keeper_of() { pgrep -P "$(pid_of "$1")" '^dlock-'; }
guard_of() { pgrep -P "$(pid_of "$1")" -x dlock.guard; }
command_of() { pgrep -P "$(guard_of "$1")"; }

# hold_section NAME WORD...: a dlock that holds $key (k) while its section runs, with a lease of $ttl (2s). Of 2 s TERM is due
# 1.48 s and KILL 1.81 s after the last confirmed send.
hold_section() {
  start_watched "$1" dlock run --ttl "${ttl:-2s}" "${key:-k}" -- section --for 30 "${@:2}"
  wait_until begun 1
  started+=("$(keeper_of "$1")")
}
# wait_section NAME [OPTION...]: one more that waits for it.
wait_section() {
  start_watched "$1" dlock run -q --ttl 2s "${@:2}" "${key:-k}" -- section
  wait_until has 1 waiters "${key:-k}"
}

# --- what holds for every store --------------------------------------------------------------------------------------

# A command runs, excludes, is seen, is told of, gives back; and is ended when it holds for too long.
locks_and_excludes() { # KEY
  run -7 --separate-stderr dlock run "$1" -- sh -c 'echo "$DLOCK_STORE $DLOCK_TOKEN"; exit 7'
  [ "$stderr" = "" ]
  [[ "$output" =~ ^[^\ ]+\ [0-9]+$ ]]
  local token=${output##* }
  hold_lock "$1"
  [ "$holder_token" -gt "$token" ]
  run -75 dlock run -n "$1" -- touch ran
  [[ "$output" == *"$1 is held by"* ]]
  [ "$(count holders "$1")" = 1 ]
  run -3 dlock run -n -q -E 0 --warn-held 0=3 "$1" -- touch ran
  [[ "$output" == *"$1 is held by "*" for "*"longer than 0 s (--warn-held)"* ]]
  run -0 dlock run -n -E 0 --warn-held 1h=3 "$1" -- touch ran
  [ "$output" = "" ]
  start_watched waiter dlock run -q "$1" -- touch waited
  wait_until has 1 waiters "$1"
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
  [ -e waited ]
  [ ! -e ran ]
  is_free "$1"
  run -124 dlock run --max-hold 300ms "$1" -- sleep 100
  [[ "$output" == *"$1 was held for "*"as long as --max-hold allows"* ]]
  is_free "$1"
}

# What the certificate's check says, for a URL that must be refused before any secret is sent.
refused() { # URL PATTERN
  run dlock run -n --connect-timeout 2s -b "$1" "${key:-k}" -- touch ran
  echo "$1: $status $output"
  [[ "$status" = 69 || "$status" = 77 || "$status" = 78 ]]
  [[ "$output" =~ $2 ]]
  [ ! -e ran ]
}
