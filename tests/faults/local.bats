# SPDX-License-Identifier: Apache-2.0
# The local backend when processes are killed or stopped.
load ../support/cli

setup() {
  set_world
  script_work
}
teardown() {
  if [ -n "${freezer:-}" ]; then thaw; fi
  end_world
  if [ -n "${freezer:-}" ]; then rmdir "$freezer" 2>/dev/null || true; fi
}

# A cgroup of our own whose processes can be frozen, v2 or v1; nothing where none can be made.
make_freezer() {
  local mount
  for mount in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/freezer; do
    if [ ! -e "$mount/cgroup.procs" ] || ! mkdir "$mount/dlock-test-$$" 2>/dev/null; then continue; fi
    freezer=$mount/dlock-test-$$
    if [ -w "$freezer/cgroup.freeze" ] || [ -w "$freezer/freezer.state" ]; then return; fi
    rmdir "$freezer"
  done
  freezer=
}
freeze() { # PID
  echo "$1" >"$freezer/cgroup.procs"
  if [ -e "$freezer/cgroup.freeze" ]; then echo 1 >"$freezer/cgroup.freeze"; else echo FROZEN >"$freezer/freezer.state"; fi
}
thaw() {
  if [ -e "$freezer/cgroup.freeze" ]; then echo 0 >"$freezer/cgroup.freeze"; else echo THAWED >"$freezer/freezer.state"; fi
}
is_frozen() { grep -Eqs '^frozen 1$|^FROZEN$' "$freezer/cgroup.events" "$freezer/freezer.state"; }

lock_file() { echo "$locks"/*.lock; }

@test "supervisor SIGKILLed: the command dies with it, and the lock is free at once" {
  start_watched end dlock run k -- work cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of end)"
  run -0 dlock run -w 10 k -- true
  ended "$(pid_of cmd)"
}

@test "supervisor SIGKILLed while grandchildren work: the descriptor keeps the lock until the last is gone" {
  start_watched end dlock run k -- bash -c 'work one & work two & echo $$ >cmd.pid; wait'
  wait_until filled one.pid
  wait_until filled two.pid
  kill -KILL "$(pid_of end)"
  wait_until ended "$(pid_of cmd)"
  kill -KILL "$(pid_of one)"
  run -75 dlock run -q -n k -- true
  run -0 dlock inspect --json k
  jq -e '.holders | length == 1' <<<"$output"
  kill -KILL "$(pid_of two)"
  run -0 dlock run -w 10 k -- true
}

@test "the command SIGKILLed: dlock dies of KILL, the lock is free" {
  start_watched end dlock run k -- work cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of cmd)"
  [ "$(how_ended end)" = "signal 9" ]
  run -0 dlock run -n k -- true
}

@test "supervisor and command stopped far beyond the ttl: the lock stays held, and work goes on" {
  start_watched end dlock run --ttl 1s k -- work cmd
  wait_until filled cmd.pid
  kill -STOP "$(pid_of end)" "$(pid_of cmd)"
  wait_until in_state "$(pid_of cmd)" T
  run -75 dlock run -q -w 1.5 k -- true
  kill -CONT "$(pid_of end)" "$(pid_of cmd)"
  touch go
  [ "$(how_ended end)" = "exit 0" ]
}

@test "the supervisor stopped, its command killed: the lock is freed when it goes on" {
  start_watched end dlock run k -- work cmd
  wait_until filled cmd.pid
  kill -STOP "$(pid_of end)"
  wait_until in_state "$(pid_of end)" T
  kill -KILL "$(pid_of cmd)"
  run -75 dlock run -q -n k -- true
  kill -CONT "$(pid_of end)"
  [ "$(how_ended end)" = "signal 9" ]
  run -0 dlock run -n k -- true
}

@test "a waiter SIGKILLed in the queue is skipped by those behind it" {
  hold_lock k
  start_watched first dlock run -q k -- touch first-ran
  wait_until has 1 waiters k
  start_watched second dlock run -q k -- true
  wait_until has 2 waiters k
  kill -KILL "$(pid_of first)"
  wait_until has 1 waiters k
  let_go
  [ "$(how_ended second)" = "exit 0" ]
  [ ! -e first-ran ]
}

@test "a waiter SIGSTOPped in the queue holds its turn, and takes it when it goes on" {
  hold_lock k
  start_watched first dlock run -q k -- true
  wait_until has 1 waiters k
  kill -STOP "$(pid_of first)"
  wait_until in_state "$(pid_of first)" T
  let_go
  run dlock run -q -w 0.3 k -- true
  [ "$status" = 75 ] || [ "$status" = 0 ]
  kill -CONT "$(pid_of first)"
  [ "$(how_ended first)" = "exit 0" ]
  run -0 dlock run -w 10 k -- true
}

@test "a waiter that stays SIGSTOPped when its turn has come is passed over, as is a frozen one, and queues again when it goes on" {
  local key waiters
  make_freezer
  for key in k "$PWD/file"; do
    rm -f first second frozen first.pid second.pid frozen.pid stopped ran
    hold_lock "$key"
    start_watched first dlock run -q "$key" -- touch stopped
    wait_until has 1 waiters "$key"
    waiters=1
    if [ -n "$freezer" ]; then
      start_watched frozen dlock run -q "$key" -- true
      wait_until has $((++waiters)) waiters "$key"
      freeze "$(pid_of frozen)"
      wait_until is_frozen
      dlock inspect "$key" | grep -q frozen
    fi
    start_watched second dlock run -q "$key" -- touch ran
    wait_until has $((++waiters)) waiters "$key"
    kill -STOP "$(pid_of first)"
    wait_until in_state "$(pid_of first)" T
    let_go
    [ "$(how_ended second)" = "exit 0" ]
    [ -e ran ]
    [ ! -e stopped ]
    kill -CONT "$(pid_of first)"
    [ "$(how_ended first)" = "exit 0" ]
    [ -e stopped ]
    [ -n "$freezer" ] || continue
    thaw
    [ "$(how_ended frozen)" = "exit 0" ]
  done
}

@test "a waiter that was SIGSTOPped with its process group and continued alone takes its turn" {
  hold_lock k
  start_watched end dlock run k -- true
  wait_until has 1 waiters k
  kill -STOP "$(pgrep -P "$(pid_of end)")"
  let_go
  [ "$(how_ended end)" = "exit 0" ]
}

@test "a holder that is SIGSTOPped is no waiter: nobody passes it" {
  start_watched a dlock run -q k -- work a
  wait_until filled a.pid
  kill -STOP "$(pid_of a)"
  run -75 dlock run -q -w 8 k -- true
  kill -CONT "$(pid_of a)"
  touch go
  [ "$(how_ended a)" = "exit 0" ]
}

@test "64 waiters are served one at a time, in order of arrival, and nobody is lost" {
  hold_lock k
  local i
  for i in {1..64}; do
    start dlock run -q k -- bash -c "mkdir alone || echo overlap >>order; echo $i >>order; rmdir alone"
    wait_until has "$i" waiters k
  done
  let_go
  wait_until lines_in order 64
  wait_until is_free k
  [ "$(cat order)" = "$(seq 64)" ]
}

@test "a crowd with random kills never overlaps and leaves nothing behind" {
  script turn <<'SCRIPT'
#!/bin/bash
# Who was killed and has not been reaped is still listed, but has let go of its files, the lock's among them.
mkdir alone 2>/dev/null || { owner=$(cat alone/pid); [ -z "$(ls "/proc/${owner:-none}/fd" 2>/dev/null)" ] || echo overlap >>overlaps; }
mkdir -p alone && echo $$ >alone/pid
echo "$DLOCK_TOKEN" >>tokens
rm -rf alone
SCRIPT
  local i victims=()
  for i in {1..40}; do
    start dlock run -q k -- turn
    ((i % 4)) || victims+=("$started_pid")
  done
  for i in "${victims[@]}"; do kill -KILL "$i" 2>/dev/null || true; done
  run -0 dlock run -w 15 k -- true
  wait_until lines_in tokens 30
  [ ! -e overlaps ]
  sort -n -c tokens # in one look: who was started late, or killed late, may still be at it
  wait_until has 0 waiters k
  sort -n -c tokens
}

@test "force-release: the revoked holder notices within a second or two" {
  start_watched end dlock run -q k -- sleep 300
  wait_until is_held k
  local before after
  before=$(date +%s%N)
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  after=$(date +%s%N)
  [ $(((after - before) / 1000000)) -lt $((2500 * slowness)) ]
}

@test "the holder left behind by acquire was killed: the lease is over, and release says 79" {
  local owner token pid
  read -r owner token < <(dlock acquire --ttl 1m k)
  pid=$(holder_field k pid)
  kill -KILL "$pid"
  run -0 dlock run -w 10 k -- true
  run -79 dlock release k --owner "$owner"
}

@test "a lease whose process is SIGSTOPped beyond the ttl goes to who waits" {
  local owner token pid
  read -r owner token < <(dlock acquire --ttl 1s k)
  pid=$(holder_field k pid)
  kill -STOP "$pid"
  run -0 dlock run -w 20 k -- true
  run -79 dlock renew --owner "$owner" k
  kill -CONT "$pid"
  wait_until ended "$pid"
}

@test "a lease ends in time also if its file was emptied, or cannot be written any more" {
  dlock acquire --ttl 2s emptied
  : >"$(echo "$locks"/*.lock)"
  dlock acquire --ttl 2s unwritten
  prlimit --fsize=0 --pid "$(holder_field unwritten pid)"
  run -0 dlock run -w 10 emptied -- true
  run -0 dlock run -w 10 unwritten -- true
}

@test "acquire as process 1 of a pid namespace, with which its lease would end, is refused" {
  unshare -pf true 2>/dev/null || skip "no right to make a pid namespace"
  run -78 unshare -pf --mount-proc dlock acquire --ttl 1m k
  [[ $output == *"process 1 of its pid namespace"* ]]
  run -0 dlock run -n k -- true
}

@test "lock-delay: after an unclean end nobody gets the lock for that long, after a clean one at once" {
  run -0 dlock run --lock-delay 1s k -- true
  run -0 dlock run -n k -- true
  start_watched end dlock run --lock-delay 1s k -- work cmd
  wait_until filled cmd.pid
  local before after
  before=$(date +%s%N)
  kill -KILL "$(pid_of end)"
  wait_until ended "$(pid_of cmd)"
  run -75 dlock run -q -n k -- true
  run -0 dlock run -w 10 k -- true
  after=$(date +%s%N)
  [ $(((after - before) / 1000000)) -ge 900 ]
}

@test "tokens grow across killed holders, force-release and a removed file" {
  local last=0 token
  grows() {
    token=$(dlock run -w 10 k -- printenv DLOCK_TOKEN)
    [ "$token" -gt "$last" ]
    last=$token
  }
  grows
  start_watched end dlock run -q k -- work cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of end)"
  grows
  hold_lock k
  dlock force-release --yes k
  grows
  rm "$(lock_file)"
  grows
}
