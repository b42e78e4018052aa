# SPDX-License-Identifier: Apache-2.0
# What is left when dlock itself is killed, with real processes: a keeper (tests/support/programs/memory_keeper.cpp) that
# grants everything and writes down what happened to the lock, and how many of the command's processes lived when it gave
# the lock back.
load ../support/cli

setup() {
  set_world
  install_keeper memory_keeper
  export DLOCK_BACKEND=redis://memory MEMORY_KEEPER_LOG=$BATS_TEST_TMPDIR/work/said
  export MEMORY_KEEPER_PID=$BATS_TEST_TMPDIR/work/keeper.pid
}
teardown() { end_world; }

# A process that writes its id into NAME.pid, "TERM" into NAME when it gets one, and then ends, or does not: worker NAME
# [--stubborn]. It ends by itself after 20 s.
script_worker() {
  script worker <<'EOF2'
#!/usr/bin/python3 -SE
import os, signal, sys, time
name = sys.argv[1]
def on_term(*_):
    with open(name, "a") as said: said.write("TERM\n")
    if "--stubborn" not in sys.argv: os._exit(0)
signal.signal(signal.SIGTERM, on_term)
with open(name + ".tmp", "w") as pid: pid.write(str(os.getpid()))
os.rename(name + ".tmp", name + ".pid")
end = time.monotonic() + 20
while time.monotonic() < end: time.sleep(0.1)
EOF2
}

said() { grep -q "^$1" said; }
kill_dlock() {
  killed_at=$(now_ms)
  kill -KILL "$(cat end.pid)"
}
# The lock was given back N ms after dlock was killed, and none of the command's processes lived then.
released_after() { # LEAST MOST
  wait_until said released
  read -r _ at living < <(grep '^released' said)
  echo "released $((at - killed_at)) ms after the kill, $living processes left" >&2
  [ "$living" = 0 ] && [ $((at - killed_at)) -ge "$1" ] && [ $((at - killed_at)) -le "$2" ]
}

kill_and_release() { # MOST
  rm -f said
  start_watched end dlock run k -- sleep 20
  wait_until pgrep -P "$(cat end.pid)" -x sleep
  command=$(pgrep -P "$(cat end.pid)" -x sleep)
  kill_dlock
  released_after -10 "$1" && ended "$command" && wait_until ended "$(cat keeper.pid)"
}

@test "dlock is killed: its command goes with it, and the lock is free within 100 ms" {
  # The best of five: a busy machine must not fail the test, a keeper that waits for a tick must.
  local _
  for _ in {1..5}; do
    if kill_and_release 100; then return; fi
  done
  false
}

@test "processes in sessions of their own get TERM, and the lock is free when the last of them has ended" {
  script_worker
  start_watched end dlock run k -- sh -c 'setsid worker one & setsid setsid worker two & wait'
  wait_until filled one.pid
  wait_until filled two.pid
  kill_dlock
  released_after -10 1000
  [ "$(cat one two)" = $'TERM\nTERM' ]
  ended "$(cat one.pid)"
  ended "$(cat two.pid)"
}

@test "a process that is deaf to TERM is killed after --kill-after, and not before; the lease is renewed meanwhile" {
  script_worker
  start_watched end dlock run --ttl 3s --kill-after 1200ms k -- sh -c 'setsid worker one --stubborn & wait'
  wait_until filled one.pid
  renewals() { grep -c '^renewed' said || true; }
  before=$(renewals)
  kill_dlock
  released_after 1100 2000
  [ "$(cat one)" = TERM ]
  ended "$(cat one.pid)"
  [ "$(renewals)" -gt "$before" ]
}

@test "under a lease that nobody can renew, KILL comes before its end, whatever --kill-after says" {
  script_worker
  export MEMORY_KEEPER_DEAF_FROM=1
  start_watched end dlock run --ttl 2s --kill-after 900ms k -- sh -c 'setsid worker one --stubborn & wait'
  wait_until filled one.pid
  granted=$(awk '/^granted/ { print $2 }' said)
  wait_until eval '[ $(($(now_ms) - granted)) -ge 1300 ]' # dlock itself is ending it by now
  kill_dlock
  wait_until said released
  [ $(($(awk '/^released/ { print $2 }' said) - granted)) -lt 2000 ]
  ended "$(cat one.pid)"
}

@test "a nested dlock run is ended as well: its own lock is given back, after its own command has ended" {
  script_worker
  start_watched end dlock run outer -- sh -c 'setsid dlock run inner -- worker one & wait'
  wait_until filled one.pid
  kill_dlock
  wait_until eval '[ "$(grep -c "^released" said)" = 2 ]'
  run ! grep -v ' 0$' <(grep '^released' said)
  ended "$(cat one.pid)"
}

@test "a hold that is killed gives the lock back; processes that know its owner are not its command" {
  export MEMORY_KEEPER_LOG=$PWD/said
  hold_lock k
  env DLOCK_OWNER="$holder_owner" sleep 20 &
  bystander=$!
  started+=("$bystander")
  kill -KILL "$holder"
  wait_until said released
  kill -0 "$bystander"
  exec {holder_stdin}>&-
}

@test "a lock that is acquired for a process is kept until that process ends; nobody's stderr stays open" {
  sleep 20 &
  watched_pid=$!
  started+=("$watched_pid")
  output=$(dlock acquire --ttl 1s --watch-pid "$watched_pid" k 2>&1) # would wait for ever for the end of stderr
  wait_until eval '[ "$(grep -c "^renewed" said)" -ge 2 ]'
  run ! said released
  killed_at=$(now_ms)
  kill -KILL "$watched_pid"
  released_after -10 200
  wait_until ended "$(cat keeper.pid)"
}

@test "TERM, INT, HUP and QUIT do not end a keeper" {
  start_watched end dlock run --ttl 1s k -- sh -c 'until [ -e go ]; do sleep 0.05; done'
  wait_until filled keeper.pid
  wait_until said granted
  for signal in TERM INT HUP QUIT; do kill -"$signal" "$(cat keeper.pid)"; done
  wait_until said renewed
  touch go
  [ "$(how_ended end)" = "exit 0" ]
  said released
}
