# SPDX-License-Identifier: Apache-2.0
# The seam to a keeper program, with real processes: dlock, its command, and a keeper that does as a script says
# (tests/support/programs/fake_keeper.cpp), installed where dlock looks for dlock-redis. The ttl is 2 s: TERM is due 1.48 s and
# KILL 1.81 s after the last confirmed send.
load ../support/cli

setup() {
  set_world
  install_keeper fake_keeper
  export DLOCK_BACKEND=redis://fake FAKE_KEEPER_LOG=$BATS_TEST_TMPDIR/work/heard
  export FAKE_KEEPER_PID=$BATS_TEST_TMPDIR/work/keeper.pid
}
teardown() { end_world; }

# script NAME for the keeper, then a command that writes "tick SECONDS" every 20 ms until it is ended, TERM or not.
keeper_does() { export FAKE_KEEPER_SCRIPT=$1; }
script_ticking() {
  script ticking <<'EOF'
#!/usr/bin/python3 -SE
import os, signal, sys, time
if "--stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: os.write(2, b"TERM\n"))
def now(): return time.clock_gettime(time.CLOCK_BOOTTIME)
begin = now()
with open("ticks", "a", buffering=1) as ticks:
    while now() - begin < 10:
        ticks.write("%.3f\n" % (now() - begin))
        time.sleep(0.02)
EOF
}
# The last act of the command came sooner than SECONDS after its first.
acted_for_less_than() { awk -v limit="$1" 'END { exit !($1 < limit) }' ticks; }
acted_for_more_than() { awk -v limit="$1" 'END { exit !($1 > limit) }' ticks; }

@test "a keeper that grants and releases: the command's status, its token, the store that granted it" {
  keeper_does 'grant 30000; serve'
  run -7 dlock run k -- sh -c 'echo "$DLOCK_TOKEN $DLOCK_STORE $DLOCK_KEY"; exit 7'
  [ "$output" = "42 redis://fake k" ]
  [ "$(tr '\n' ' ' <heard)" = "acquire started release " ]
}

@test "a keeper that hangs after the grant: the command is ended before its lease is, 79" {
  script_ticking
  keeper_does 'grant 2000; hang'
  run -79 dlock run --ttl 2s k -- ticking
  acted_for_less_than 1.8
  acted_for_more_than 1.2
  [[ "$output" == *"LOST k: no renewal for 1"* ]]
}

@test "the same for a command that ignores TERM: KILL" {
  script_ticking
  keeper_does 'grant 2000; hang'
  run -79 dlock run --ttl 2s k -- ticking --stubborn
  acted_for_less_than 2.0
  acted_for_more_than 1.4
  [[ "$output" == *TERM* ]]
}

@test "a keeper that is stopped (SIGSTOP): the same" {
  script_ticking
  keeper_does 'grant 2000; stop'
  start_watched end dlock run --ttl 2s k -- ticking
  wait_until filled keeper.pid
  wait_until in_state "$(cat keeper.pid)" T
  [ "$(how_ended end)" = "exit 79" ]
  acted_for_less_than 1.8
}

@test "a keeper that is killed (SIGKILL): the command has what is left of the lease, then 79" {
  script_ticking
  keeper_does 'grant 2000; die'
  run -79 dlock run --ttl 2s k -- ticking
  acted_for_less_than 1.8
  acted_for_more_than 1.2
}

@test "a keeper that is killed under a short command: its status, and a warning that names the end of the lease" {
  keeper_does 'grant 2000; die'
  run -3 dlock run --ttl 2s k -- sh -c 'sleep 0.3; exit 3'
  [[ "$output" == *"could not be confirmed"*"the lease ends by itself in"* ]]
  run -69 dlock run --strict-release --ttl 2s k -- true
}

@test "a keeper that says lost: TERM at once, to the descendants too" {
  script_ticking
  keeper_does 'grant 30000; sleep 300; lost it was taken by ci-4; serve'
  run -79 dlock run k -- sh -c 'setsid ticking & setsid ticking; exit 0'
  acted_for_less_than 1.5
  [[ "$output" == *"LOST k: it was taken by ci-4; sent TERM to pid"* ]]
  run ! pgrep -f "$BATS_TEST_TMPDIR/bin/ticking"
}

@test "a renewal that comes 0.4 ttl late costs nothing" {
  keeper_does 'grant 2000; late 2000; renew 2000; serve'
  run -0 dlock run --ttl 2s k -- sleep 2.2
  [ "$output" = "" ]
}

@test "a renewal that is only shown counts: the command goes on" {
  keeper_does 'grant 2000; renew 2000; show 2000; show 2000; serve'
  run -0 dlock run --ttl 2s k -- sleep 2.9
  [ "$output" = "" ]
  [ "$(grep -vx who heard | tr '\n' ' ')" = "acquire started look release " ]
}

# The renewals are 0.67 s and 1.33 s after the grant: TERM is due 2.82 s, KILL 3.15 s after it; by what was only said
# it would be 2.15 s and 2.48 s. A busy machine takes its time to start the command.
@test "a keeper that hangs after it has shown a renewal: the command is ended before that lease is, 79" {
  script_ticking
  keeper_does 'grant 2000; renew 2000; show 2000; hang'
  run -79 dlock run --ttl 2s k -- ticking --stubborn
  acted_for_less_than 3.3
  acted_for_more_than 2.5
  [[ "$output" == *"LOST k: no renewal"* ]]
}

@test "a keeper that is killed after it has shown a renewal: the same" {
  script_ticking
  keeper_does 'grant 2000; renew 2000; show 2000; die'
  run -79 dlock run --ttl 2s k -- ticking
  acted_for_less_than 3.1
  acted_for_more_than 2.2
}

@test "a keeper that talks nonsense is one that is gone" {
  keeper_does 'garbage; serve'
  run -69 dlock run k -- true
  [[ "$output" == *"do not understand each other"* ]]
}

@test "busy is 75, denied 77, unreachable 69, and nothing was run" {
  keeper_does busy
  run -75 dlock run k -- touch ran
  keeper_does denied
  run -77 dlock run k -- touch ran
  keeper_does unavailable
  run -69 dlock run k -- touch ran
  [[ "$output" == *"connection refused"* ]]
  [ ! -e ran ]
}

@test "a keeper that never answers is given up after the wait and the connection's time-out" {
  keeper_does hang
  run -69 dlock run -n --connect-timeout 100ms k -- touch ran
  [ ! -e ran ]
}

@test "--fallback is used when the store cannot be reached, and DLOCK_STORE says so" {
  keeper_does unavailable
  run -0 --separate-stderr dlock run --fallback "local:$locks" k -- sh -c 'echo "$DLOCK_STORE"'
  [ "$output" = "local:$locks" ]
  [[ "$stderr" == *"connection refused; falling back to local:$locks"* ]]
}

@test "--fallback is not used when the lock is busy" {
  keeper_does busy
  run -75 dlock run --fallback "local:$locks" k -- touch ran
  [ ! -e ran ]
}

@test "--if-unavailable=run runs without the lock, and says so" {
  keeper_does unavailable
  run -5 --separate-stderr dlock run --if-unavailable=run k -- sh -c 'echo "${DLOCK_TOKEN-none}"; exit 5'
  [ "$output" = none ]
  [[ "$stderr" == *"running WITHOUT the lock"* ]]
  keeper_does busy
  run -75 dlock run --if-unavailable=run k -- true
}

@test "INT while a deaf keeper is waited for: dlock dies of it within a second or two" {
  keeper_does hang
  start_watched end dlock run k -- true
  kill -INT "$(cat end.pid)"
  [ "$(how_ended end)" = "signal 2" ]
}

@test "^Z and a kill of the job's group do not reach the keeper: it is in a session of its own" {
  keeper_does 'grant 30000; serve'
  run -0 dlock run k -- sh -c 'ps -o sid= -p "$(cat keeper.pid)"; ps -o sid= -p $$'
  [ "${lines[0]}" != "${lines[1]}" ]
}

@test "the password reaches the keeper, but no command line and no message" {
  keeper_does unavailable
  run -69 dlock run -b redis://app:hunter2@fake k -- true
  [[ "$output" != *hunter2* ]]
  [[ "$output" == *"shows it"* || "$output" == *"***"* || "$output" == *ps* ]]
}

@test "a backend that is not installed is named with its package" {
  rm "$BATS_TEST_TMPDIR/prefix/libexec/dlock/dlock-redis"
  run -78 dlock run k -- true
  [[ "$output" == *"backend 'redis' is not installed"*"apt install dlock-redis"* ]]
}
