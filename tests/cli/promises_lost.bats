# SPDX-License-Identifier: Apache-2.0
# A lock that is taken away, and supervisors that die: promises 9, 10, 11 and 16.
load ../support/cli

setup() {
  set_world
  script_victims
}
teardown() { end_world; }

@test "10.1 a revoked lock ends CMD with TERM, one line says so, and the status is 79 although CMD returned 0" {
  start_watched end bash -c 'exec dlock run k -- note cmd 2>err'
  wait_until filled cmd.pid
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  [ "$(cat got)" = "cmd TERM" ]
  [ "$(grep -c LOST err)" = 1 ]
  [[ "$(cat err)" == "dlock: LOST k: "*"pid $(pid_of cmd)"* ]]
  ended "$(pid_of cmd)"
}

@test "10.2 every descendant gets TERM: of a shell, in a session of its own, double-forked, without our variables" {
  script family <<'SCRIPT'
#!/bin/bash
trap 'echo "cmd TERM" >>got; exit 0' TERM
note child &
setsid note session &
(setsid bash -c 'note daemon & exit' &)
(setsid env -i PATH="$PATH" HOME="$HOME" bash -c 'note bare & exit' &)
echo $$ >cmd.pid
until [ -e finish ]; do sleep 0.1; done
SCRIPT
  start_watched end dlock run -k 4s k -- family
  local name
  for name in cmd child session daemon bare; do wait_until filled $name.pid; done
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  for name in cmd child session daemon bare; do
    ended "$(pid_of $name)"
    grep -x "$name TERM" got
  done
}

# bats test_tags=all
@test "10.2 what ran before dlock was executed in its place is none of CMD's: it goes on, and the release does not wait for it" {
  script helper <<'SCRIPT'
#!/bin/bash
bash -c 'note orphan & until [ -e go ]; do sleep 0.1; done' & # which becomes a child of dlock's
until [ -e go ]; do sleep 0.1; done
note late &
note helper
SCRIPT
  script family <<'SCRIPT'
#!/bin/bash
touch go
note child &
exec note cmd
SCRIPT
  start_watched end bash -c 'helper >/dev/null 2>&1 3>&- &
    until [ -s orphan.pid ]; do sleep 0.1; done
    exec dlock run -q k -- family'
  local name
  for name in cmd child helper late orphan; do wait_until filled $name.pid; done
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  [ "$(sort got)" = "child TERM
cmd TERM" ]
  for name in helper late orphan; do kill -0 "$(pid_of $name)"; done
  touch finish
}

@test "10.3 KILL follows after --kill-after for those who ignore TERM, and dlock ends only when all are gone" {
  script family <<'SCRIPT'
#!/bin/bash
setsid stubborn daemon &
exec stubborn cmd
SCRIPT
  start_watched end dlock run --kill-after 400ms k -- family
  wait_until filled cmd.pid
  wait_until filled daemon.pid
  local before after
  before=$(date +%s%N)
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  after=$(date +%s%N)
  ended "$(pid_of cmd)"
  ended "$(pid_of daemon)"
  grep -x "cmd TERM" got
  grep -x "daemon TERM" got
  [ $(((after - before) / 1000000)) -ge 400 ]
  [ $(((after - before) / 1000000)) -lt $((4000 * slowness)) ]
}

@test "10.4 a stopped CMD is ended too" {
  start_watched end dlock run --kill-after 300ms k -- note cmd
  wait_until filled cmd.pid
  kill -STOP "$(pid_of cmd)"
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  ended "$(pid_of cmd)"
}

@test "10.5 --on-lost kill does not ask first" {
  start_watched end dlock run --on-lost kill k -- note cmd
  wait_until filled cmd.pid
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  ended "$(pid_of cmd)"
  [ ! -e got ]
}

@test "10.6 --on-lost signal:USR1 tells CMD and lets it go on" {
  start_watched end bash -c 'exec dlock run --on-lost signal:USR1 k -- note cmd 2>err'
  wait_until filled cmd.pid
  dlock force-release --yes k
  wait_until lines_in got 1
  [ "$(cat got)" = "cmd USR1" ]
  run -0 kill -0 "$(pid_of cmd)"
  touch finish
  how_ended end
  [[ "$(cat err)" == *LOST* ]]
}

# bats test_tags=all
@test "10.7 CMD's 0 after a loss is 79 with --on-lost signal:" {
  start_watched end dlock run -q --on-lost signal:USR1 k -- bash -c 'trap : USR1; echo $$ >cmd.pid; until [ -e go ]; do sleep 0.1; done'
  wait_until filled cmd.pid
  dlock force-release --yes k
  run -0 kill -0 "$(pid_of cmd)"
  touch go
  [ "$(how_ended end)" = "exit 79" ]
}

@test "10.7 --on-lost signal: reaches what CMD has started, and a lock that was asked for passes when that has ended, too" {
  start_watched end bash -c 'exec dlock run --on-lost signal:TERM k -- bash -c "stubborn rest & exec note cmd" 2>err'
  wait_until filled cmd.pid
  wait_until filled rest.pid
  run -75 dlock revoke -w 500ms k
  wait_until lines_in got 2
  [ "$(sort got | xargs)" = "cmd TERM rest TERM" ]
  wait_until ended "$(pid_of cmd)"
  run -75 dlock run -q -n k -- true
  [ ! -e end ]
  [[ "$(cat err)" == *"pid $(pid_of cmd) and its descendants, which go on until they end by themselves"* ]]
  kill -KILL "$(pid_of rest)"
  [ "$(how_ended end)" = "exit 79" ]
  run -0 dlock run -n k -- true
}

@test "10.8 after a loss somebody else can have the lock, and the loser does not take it from them" {
  start_watched end dlock run -q k -- stubborn cmd
  wait_until filled cmd.pid
  dlock force-release --yes k
  hold_lock -w 10 k
  kill -KILL "$(pid_of cmd)"
  [ "$(how_ended end)" = "exit 79" ]
  [ "$(holder_field k owner)" = "$holder_owner" ]
  run -75 dlock run -q -n k -- true
}

@test "10.9 losing one of several KEYs ends CMD and frees the others" {
  start_watched end dlock run a b c -- note cmd
  wait_until filled cmd.pid
  dlock force-release --yes b
  [ "$(how_ended end)" = "exit 79" ]
  run -0 dlock run -n a b c -- true
}

@test "10.10 a lost hold says so and ends with 79" {
  hold_lock k 2>err
  dlock force-release --yes k
  wait_until grep LOST err
  local status=0
  let_go || status=$?
  [ "$status" = 79 ]
  [[ "$(cat err)" == *LOST* ]]
}

@test "11.1 SIGKILL of dlock: CMD is killed by the kernel, its children keep the lock by the inherited descriptor" {
  script family <<'SCRIPT'
#!/bin/bash
note child &
echo $$ >cmd.pid
wait
SCRIPT
  start_watched end dlock run k -- family
  wait_until filled cmd.pid
  wait_until filled child.pid
  kill -KILL "$(pid_of end)"
  [ "$(how_ended end)" = "signal 9" ]
  wait_until ended "$(pid_of cmd)"
  run -0 kill -0 "$(pid_of child)"
  run -75 dlock run -q -n k -- true
  touch finish
  wait_until ended "$(pid_of child)"
  run -0 dlock run -w 10 k -- true
}

@test "11.2 SIGKILL of dlock with -o: CMD is killed by the kernel, and the lock is free" {
  start_watched end dlock run -o k -- note cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of end)"
  wait_until ended "$(pid_of cmd)"
  run -0 dlock run -w 10 k -- true
}

@test "11.3 a waiter gets the lock when holder and CMD were killed" {
  start_watched end dlock run k -- note cmd
  wait_until filled cmd.pid
  start_watched next dlock run -q k -- true
  wait_until has 1 waiters k
  kill -KILL "$(pid_of end)"
  [ "$(how_ended next)" = "exit 0" ]
  ended "$(pid_of cmd)"
}

# Somebody who was stopped in the middle of a change: holds the guard of every lock file there is, as the local backend
# does for the few microseconds of an acquisition.
stop_in_the_middle() {
  start "${python[@]}" -c '
import fcntl, os, struct, sys, time
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDWR)
    while True:
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 1 << 62, 1, 0))
            break
        except BlockingIOError:
            time.sleep(0.01)
open("guarded", "w").write("yes")
time.sleep(300)' "$locks"/*.lock
  wait_until filled guarded
}

@test "16.1 no call hangs with a process that was stopped in the middle of a change" {
  dlock run k -- true
  stop_in_the_middle
  run -69 timeout 15 dlock run -w 0.3 k -- touch ran
  [[ "$output" == dlock:* ]]
  run -69 timeout 15 dlock run -n k -- touch ran
  [ ! -e ran ]
  run timeout 15 dlock force-release --yes k
  [ "$status" != 124 ]
  run timeout 15 dlock inspect k
  [ "$status" != 124 ]
  kill -KILL "$started_pid"
  run -0 dlock run -w 10 k -- true
}

@test "16.2 a release is bounded too, and the status is CMD's" {
  start_watched end dlock run --lock-delay 1s k -- note cmd
  wait_until filled cmd.pid
  stop_in_the_middle
  touch finish
  [ "$(how_ended end)" = "exit 9" ]
}
