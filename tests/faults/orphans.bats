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
teardown() {
  [ -z "${open_world-}" ] || touch "$open_world/go"
  end_world
  [ -z "${open_world-}" ] || rm -rf -- "$open_world"
}

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
  local after=$((at - killed_at))
  echo "released $after ms after the kill, $living processes left" >&2
  ((living == 0 && after >= $1 && after <= $2))
}

kill_and_release() { # MOST
  rm -f said end end.pid
  start_watched end dlock run k -- sleep 20
  wait_until command_of end
  command=$(command_of end)
  kill_dlock
  released_after -10 "$1" && ended "$command" && wait_until ended "$(cat keeper.pid)"
}

@test "dlock is killed: its command goes with it, and the lock is free at once" {
  # The best of five: a busy machine must not fail the test, a keeper that waits for a tick must.
  local _
  for _ in {1..5}; do
    if kill_and_release $((100 * slowness)); then return; fi
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
  start_watched end dlock run --ttl $((2 * slowness))s --kill-after $((900 * slowness))ms k -- sh -c 'setsid worker one --stubborn & wait'
  wait_until filled one.pid
  granted=$(awk '/^granted/ { print $2 }' said)
  wait_until eval '[ $(($(now_ms) - granted)) -ge $((1300 * slowness)) ]' # dlock itself is ending it by now
  kill_dlock
  wait_until said released
  [ $(($(awk '/^released/ { print $2 }' said) - granted)) -lt $((2000 * slowness)) ]
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

# bats test_tags=all
@test "TERM, INT, HUP and QUIT do not end a keeper" {
  start_watched end dlock run --ttl 1s k -- sh -c 'until [ -e go ]; do sleep 0.1; done'
  wait_until filled keeper.pid
  wait_until said granted
  for signal in TERM INT HUP QUIT; do kill -"$signal" "$(cat keeper.pid)"; done
  wait_until said renewed
  touch go
  [ "$(how_ended end)" = "exit 0" ]
  said released
}

# --- a supervisor that does not act ----------------------------------------------------------------------------------

# A command, "two", and its descendant, "one", in a session of its own; neither ends by TERM.
hold_worker() { # WORD...: of dlock run
  script_worker
  start_watched end dlock run "$@" k -- sh -c 'setsid worker one --stubborn & exec worker two --stubborn'
  wait_until filled one.pid
  wait_until filled two.pid
}
both_ended() { ended "$(cat one.pid)" && ended "$(cat two.pid)"; }

@test "dlock is stopped and no renewal comes: its keeper ends the command before the lease ends, and 79" {
  export MEMORY_KEEPER_DEAF_FROM=1
  hold_worker --ttl 8s --kill-after 200ms
  kill -STOP "$(cat end.pid)"
  wait_until said released
  both_ended
  [ $(($(awk '/^released/ { print $2 }' said) - $(awk '/^granted/ { print $2 }' said))) -lt 8000 ]
  run ! grep TERM one # only dlock is polite
  kill -CONT "$(cat end.pid)"
  [ "$(how_ended end)" = "exit 79" ]
}

# bats test_tags=all
@test "dlock is stopped where no /proc is mounted: its keeper ends the command all the same" {
  mounts_apart || skip "no right to mount"
  export MEMORY_KEEPER_DEAF_FROM=1
  start_watched end "${apart[@]}" sh -c 'umount -l /proc && exec dlock run --ttl 1s k -- sh -c "echo \$\$ >cmd.pid; exec sleep 300"'
  wait_until filled cmd.pid
  kill -STOP "$(cat end.pid)"
  wait_until said released
  ended "$(cat cmd.pid)"
  kill -CONT "$(cat end.pid)"
  [ "$(how_ended end)" = "exit 79" ]
}

# bats test_tags=all
@test "dlock is stopped and the lock is taken away: its keeper ends the command after --kill-after, and 79" {
  export MEMORY_KEEPER_LOST=$PWD/taken
  hold_worker --ttl 30s --kill-after 300ms
  kill -STOP "$(cat end.pid)"
  touch taken
  wait_until both_ended
  kill -CONT "$(cat end.pid)"
  [ "$(how_ended end)" = "exit 79" ]
  run ! said released
}

@test "dlock that acts is left to act: TERM, --kill-after, and only then KILL; its keeper ends behind it" {
  export MEMORY_KEEPER_LOST=$PWD/taken
  hold_worker --ttl 30s --kill-after 300ms
  touch taken
  [ "$(how_ended end)" = "exit 79" ]
  both_ended
  [ "$(cat one two)" = $'TERM\nTERM' ]
  wait_until ended "$(cat keeper.pid)"
}

@test "dlock is killed while it ends a command that lost its lock: what is left of that is ended" {
  export MEMORY_KEEPER_LOST=$PWD/taken
  hold_worker --ttl 30s --kill-after 4s
  touch taken
  wait_until filled one # TERM
  kill -KILL "$(cat end.pid)"
  wait_until both_ended
  wait_until ended "$(cat keeper.pid)"
}

@test "dlock is killed after somebody asked for its lock: what is left of the command is ended, the lock given back" {
  export MEMORY_KEEPER_ASKED=$PWD/asked
  hold_worker --ttl 30s --kill-after 4s
  touch asked
  wait_until filled one # TERM
  kill_dlock
  released_after -10 8000
  both_ended
  wait_until ended "$(cat keeper.pid)"
}

@test "dlock is stopped and somebody asks for its lock: its keeper ends the command and gives the lock back" {
  export MEMORY_KEEPER_ASKED=$PWD/asked
  hold_worker --ttl 30s --kill-after 300ms
  kill -STOP "$(cat end.pid)"
  killed_at=$(now_ms)
  touch asked
  released_after 200 5000
  both_ended
  kill -CONT "$(cat end.pid)"
  [ "$(how_ended end)" = "exit 79" ]
}

@test "--on-lost signal:URG: a command that is meant to go on does, whether dlock acts or not" {
  export MEMORY_KEEPER_LOST=$PWD/taken
  hold_worker --ttl 30s --kill-after 100ms --on-lost signal:URG
  kill -STOP "$(cat end.pid)"
  touch taken
  wait_until ended "$(cat keeper.pid)"
  run ! ended "$(cat one.pid)"
  run ! ended "$(cat two.pid)"
}

# --- descendants that have gone their own way ------------------------------------------------------------------------

@test "dlock is killed: processes without its variables, in sessions of their own, orphaned before, are ended as well" {
  script_worker
  script bare <<'EOF2'
#!/bin/sh
(env -i PATH="$PATH" setsid /bin/sh -c 'worker three --stubborn & exit' &)
env -i PATH="$PATH" setsid worker one --stubborn &
env -i PATH="$PATH" worker two --stubborn &
wait
EOF2
  start_watched end dlock run --kill-after $((300 * slowness))ms k -- bare
  local name
  for name in one two three; do wait_until filled $name.pid; done
  kill_dlock
  wait_until said released
  for name in one two three; do
    ended "$(cat $name.pid)"
    [ "$(cat $name)" = TERM ]
  done
}

@test "what the command started as another user, and what may not be ended, keeps the lock held, and that is said" {
  [ "$(id -u)" = 0 ] || skip "needs root: to be somebody else, and to make a set-uid program"
  # Where another user may go.
  open_world=$(mktemp -d)
  chmod 777 "$open_world"
  cp -r "$BATS_TEST_TMPDIR/prefix" "$open_world"
  cd "$open_world"
  export MEMORY_KEEPER_LOG=$PWD/said HOME=$PWD
  cp "$(command -v setpriv)" as-root
  chmod 4755 as-root
  # Of root in every respect, as sudo makes it.
  cat >by-sudo <<'EOF2'
#!/bin/sh
env -i ./as-root --reuid 0 /bin/sh -c 'echo $$ >one.tmp; mv one.tmp one.pid; until [ -e go ]; do sleep 0.1; done' &
wait
EOF2
  chmod 755 by-sudo
  start_watched end setpriv --reuid 65534 --regid 65534 --clear-groups prefix/bin/dlock run --ttl 2s --kill-after 100ms k -- ./by-sudo 2>err
  wait_until filled one.pid
  [ "$(stat -c %u "/proc/$(cat one.pid)")" = 0 ]
  kill_dlock
  renewals() { grep -c '^renewed' said || true; }
  before=$(renewals)
  wait_until eval '[ "$(renewals)" -gt $((before + 1)) ]'
  run ! said released
  run ! ended "$(cat one.pid)"
  grep -qE 'k: may not end process [0-9]+, which the command started as another user; the lock is kept' err
  touch go
  wait_until said released
}

# in_login HOW...: the command goes through a login, which changes the user and cleans the environment and the limits, and
# starts a process in a session of its own, whose parent ends, and another one.
in_login() {
  [ "$(id -u)" = 0 ] || skip "needs root: to log in as somebody else"
  tag=$((RANDOM + 100000)).$RANDOM
  start_watched end dlock run --kill-after 300ms k -- "$@" "(setsid sleep $tag &); exec sleep $tag"
  wait_until eval '[ "$(pgrep -cf "^sleep $tag")" = 2 ]'
}
killed_in_login() {
  command -v "$1" >/dev/null || skip "there is no $1"
  in_login "$@"
  kill_dlock
  wait_until said released
  run ! pgrep -f "^sleep $tag"
}

# bats test_tags=all
@test "dlock is killed: what the command started through su -l is ended before the lock is free" {
  killed_in_login su -l nobody -s /bin/sh -c
}
# bats test_tags=all
@test "dlock is killed: what the command started through runuser -l is ended before the lock is free" {
  killed_in_login runuser -l nobody -s /bin/sh -c
}
@test "dlock is killed: what the command started through sudo is ended before the lock is free" {
  killed_in_login sudo -u nobody sh -c
}

# bats test_tags=all
@test "dlock is stopped and the lock is taken away: what the command started through a login is ended" {
  export MEMORY_KEEPER_LOST=$PWD/taken
  in_login su -l nobody -s /bin/sh -c
  kill -STOP "$(cat end.pid)"
  touch taken
  wait_until eval '! pgrep -f "^sleep $tag"'
  kill -CONT "$(cat end.pid)"
  [ "$(how_ended end)" = "exit 79" ]
}

@test "dlock is killed: chains of processes that fork and end all the time are ended before the lock is free" {
  script chains <<'EOF2'
#!/usr/bin/python3 -SE
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
end = time.monotonic() + 20
for _ in range(10):
    if os.fork(): continue
    os.setsid()
    while time.monotonic() < end:
        if os.fork(): os._exit(0)
        time.sleep(0.005)
        with open("beats", "a") as beats: beats.write(".")
    os._exit(0)
time.sleep(20)
EOF2
  start_watched end dlock run --kill-after 300ms k -- env -i "$(command -v chains)"
  wait_until filled beats
  kill_dlock
  wait_until said released
  local beats _
  beats=$(stat -c %s beats)
  for _ in {1..20}; do run ! pgrep -f "$(command -v chains)"; done
  [ "$(stat -c %s beats)" = "$beats" ]
}

# --- the guard (lib/run/command_guard.h) -----------------------------------------------------------------------------

@test "the guard is outside of the job and of the terminal; what it is sent reaches the command" {
  script_worker
  start_watched end dlock run k -- worker one
  wait_until filled one.pid
  local guard
  guard=$(guard_of end)
  [ "$(ps -o pgid= -p "$guard")" != "$(ps -o pgid= -p "$(cat end.pid)")" ]
  [ "$(ps -o sid= -p "$guard")" = "$(ps -o pid= -p "$guard")" ]
  [ "$(ps -o pgid=,sid= -p "$(cat one.pid)")" = "$(ps -o pgid=,sid= -p "$(cat end.pid)")" ]
  kill -STOP "$guard"
  kill -TERM "$guard"
  [ "$(how_ended end)" = "exit 0" ]
  [ "$(cat one)" = TERM ]
  said released
  ended "$guard"
}

@test "dlock is killed while it is stopped and the command, too: the keeper ends the command in order" {
  script_worker
  start_watched end dlock run k -- worker one
  wait_until filled one.pid
  kill -STOP "$(cat end.pid)"
  kill -STOP "$(cat one.pid)"
  wait_until in_state "$(cat one.pid)" T
  wait_until in_state "$(guard_of end)" S
  kill_dlock
  kill -CONT "$(cat one.pid)"
  wait_until said released
  [ "$(cat one)" = TERM ]
}

@test "the guard is killed: the command and its descendants go with it, and then the lock is free" {
  script_worker
  start_watched end dlock run k -- sh -c 'setsid worker one --stubborn & worker two & wait' 2>err
  wait_until filled one.pid
  wait_until filled two.pid
  kill -KILL "$(guard_of end)"
  [ "$(how_ended end)" = "signal 9" ]
  grep -q 'guards the command was killed' err
  ended "$(cat one.pid)"
  ended "$(cat two.pid)"
  said released
}

# --- dlock's processes are killed together ---------------------------------------------------------------------------

# killed_together PROCESS...: of dlock, guard, keeper, in this order, at once. The command has a worker that is slow to obey,
# in a session and with an environment of its own.
killed_together() {
  script slow <<'EOF2'
#!/bin/sh
trap 'sleep 1; echo TERM >slow.said; exit' TERM
echo $$ >slow.tmp
mv slow.tmp slow.pid
while :; do sleep 0.1; done
EOF2
  start_watched end dlock run --ttl 10s --kill-after 4s k -- sh -c 'env -i PATH="$PATH" setsid slow & wait'
  wait_until filled slow.pid
  command=$(command_of end)
  sleep 0.5 # the first look
  local process dlock guard keeper
  dlock=$(cat end.pid) guard=$(guard_of end) keeper=$(cat keeper.pid)
  started+=("$(cat slow.pid)")
  killed_at=$(now_ms)
  # Nobody acts between two kills, as a busy machine would let it.
  kill -STOP "$dlock" "$guard" "$keeper"
  for process; do kill -KILL "${!process}"; done
  kill -CONT "$dlock" "$guard" "$keeper" 2>/dev/null || :
}
nothing_lived_at_the_release() { # nothing of the command, when the lock was given back
  wait_until said released
  ended "$(cat slow.pid)"
  wait_until ended "$command"
}

@test "dlock and its guard are killed at once: what the command started is ended in order before the lock is free" {
  killed_together dlock guard
  nothing_lived_at_the_release
  [ "$(cat slow.said)" = TERM ]
}
@test "the guard and its dlock are killed at once: the same" {
  killed_together guard dlock
  nothing_lived_at_the_release
}
@test "the guard and the keeper are killed at once, in either order: dlock ends everything, and gives nothing back" {
  killed_together guard keeper
  [ "$(how_ended end)" = "signal 9" ]
  ended "$(cat slow.pid)"
  run ! said released
  rm -f slow.pid end
  killed_together keeper guard
  [ "$(how_ended end)" = "signal 9" ]
  ended "$(cat slow.pid)"
  run ! said released
}
@test "dlock and its keeper are killed at once, in either order: the guard ends everything, and nothing is given back" {
  killed_together dlock keeper
  wait_until ended "$(cat slow.pid)"
  run ! said released
  rm -f slow.pid end
  killed_together keeper dlock
  wait_until ended "$(cat slow.pid)"
  run ! said released
}
@test "dlock, guard and keeper are killed at once: the command is ended by the kernel, and nothing is given back" {
  killed_together dlock guard keeper
  wait_until ended "$command"
  run ! said released
}

@test "dlock and the guard of a run inside are killed at once: the hold outlives what that one's command started" {
  script_worker
  script slow <<'EOF2'
#!/bin/sh
trap 'sleep 2; exit' TERM
echo $$ >slow.tmp
mv slow.tmp slow.pid
while :; do sleep 0.1; done
EOF2
  start_watched end dlock run --ttl 10s --kill-after 4s k -- sh -c 'dlock run k -- sh -c "setsid slow & wait" & echo $! >inner.tmp; mv inner.tmp inner.pid; wait'
  wait_until filled inner.pid
  wait_until filled slow.pid
  started+=("$(cat slow.pid)")
  sleep 0.5 # the first look
  kill -KILL "$(cat inner.pid)" "$(pgrep -P "$(cat inner.pid)" -x dlock.guard)"
  wait_until said released
  ended "$(cat slow.pid)"
}

@test "pkill -f with dlock's command line ends dlock alone" {
  script_worker
  start_watched end dlock run one-of-its-kind -- sh -c 'setsid worker one & wait'
  wait_until filled one.pid
  [ -n "$(guard_of end)" ]
  run ! pgrep -P "$(cat end.pid)" -f 'dlock run'
}

# --- the order of TERM -----------------------------------------------------------------------------------------------

# A script is asked to end while its first step runs; its second step must not begin.
asked_between_steps() { # LINE: what the script begins with
  export MEMORY_KEEPER_ASKED=$PWD/asked
  script steps <<EOF2
#!/bin/sh
$1
echo \$\$ >steps.pid
sleep 30
echo second >second
EOF2
  start_watched end dlock run --ttl 30s --kill-after 4s k -- steps
  wait_until filled steps.pid
  wait_until pgrep -P "$(cat steps.pid)"
  touch asked
  [ "$(how_ended end)" = "exit 79" ]
  [ ! -e second ]
}

@test "a script of steps has TERM before its step: no next one is begun" { asked_between_steps :; }

@test "a script that traps TERM has it before its step ends, and its trap runs" {
  asked_between_steps "trap 'echo trapped >trapped; exit 0' TERM"
  [ -e trapped ]
}

@test "dlock and its keeper are killed: the guard kills the command and its descendants" {
  hold_worker
  kill -KILL "$(cat keeper.pid)" "$(cat end.pid)"
  wait_until both_ended
}

@test "a daemon that the command has left behind outlives the run, the guard does not" {
  script_worker
  start_watched end dlock run k -- sh -c '(setsid worker one &); until [ -s one.pid ]; do sleep 0.1; done; echo $PPID >guard.pid'
  [ "$(how_ended end)" = "exit 0" ]
  started+=("$(cat one.pid)")
  ended "$(cat guard.pid)"
  run ! ended "$(cat one.pid)"
}
