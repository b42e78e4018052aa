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
  local key waiters began
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
    sleep 1.3 # the others have just looked whose turn it is: a second or more until they do so again
    let_go
    began=$(date +%s%N)
    [ "$(how_ended second)" = "exit 0" ]
    [ $((($(date +%s%N) - began) / 1000000)) -lt $((7500 * slowness)) ] # 5 to 7 seconds, dlock(7)
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

# bats test_tags=all
@test "a waiter that was SIGSTOPped with its process group and continued alone takes its turn" {
  hold_lock k
  start_watched end dlock run k -- true
  wait_until has 1 waiters k
  kill -STOP "$(pgrep -P "$(pid_of end)")"
  let_go
  [ "$(how_ended end)" = "exit 0" ]
}

# bats test_tags=all
@test "a holder that is SIGSTOPped is no waiter: nobody passes it" {
  start_watched a dlock run -q k -- work a
  wait_until filled a.pid
  kill -STOP "$(pid_of a)"
  run -75 dlock run -q -w 8 k -- true
  kill -CONT "$(pid_of a)"
  touch go
  [ "$(how_ended a)" = "exit 0" ]
}

# The processes of dlock's that work in this test's lock directory.
dlocks_left() {
  local exe name
  for exe in /proc/[0-9]*/exe; do
    name=$(readlink "$exe") || continue
    if [[ ${name##*/} != dlock* ]]; then continue; fi
    if tr '\0' '\n' <"${exe%exe}environ" | grep -qxF "DLOCK_BACKEND=$DLOCK_BACKEND"; then echo "${exe//[!0-9]/}"; fi
  done 2>/dev/null
}
# Whether a lease of each kind is kept: those of leave_leases.
leave_leases() {
  run -0 dlock acquire --ttl 10m acquired
  run -0 dlock acquire --watch-pid $$ watched
  run -0 dlock acquire --ttl 10m --permits 2 permits
  run -0 dlock run --at-least 10m kept -- true
  run -0 dlock run --once s1 slots -- sh -c 'echo ran >>ran'
}
leases_are_kept() {
  local key
  for key in acquired watched kept; do run -75 dlock run -q -n "$key" -- touch two; done
  run -0 dlock run -n --permits 2 permits -- dlock inspect --json permits
  [ "$(jq '.holders | length' <<<"$output")" = 2 ]
  run -0 dlock run -q --once s1 slots -- sh -c 'echo ran >>ran'
  [ "$(<ran)" = ran ]
  [ ! -e two ]
}

@test "acquire, --at-least and --once leave no process, so none can be killed: TERM, HUP and KILL change nothing" {
  start_watched end dlock run busy -- work cmd
  wait_until filled cmd.pid
  [ "$(dlocks_left)" = "$(pid_of end)" ] # that is how they are found
  for signal in TERM HUP KILL; do
    rm -rf "${locks:?}"/*.lock ran
    leave_leases
    dlocks_left | while read -r pid; do kill -s "$signal" "$pid"; done
    wait_until ended "$(pid_of cmd)"
    [ "$(dlocks_left)" = "" ]
    leases_are_kept
  done
}

@test "a lease is left as process 1 of a pid namespace, and where no process can be started any more" {
  unshare -pf true 2>/dev/null || skip "no right to make a pid namespace"
  run -0 unshare -pf --mount-proc dlock acquire --ttl 1m first
  run -0 unshare -pf --mount-proc dlock run -q --once s1 slots -- sh -c 'echo ran >>ran'
  run -0 unshare -pf --mount-proc dlock run -q --once s1 slots -- sh -c 'echo ran >>ran'
  run -0 unshare -pf --mount-proc dlock run --at-least 1m kept -- true
  [ "$(<ran)" = ran ]
  run -75 dlock run -q -n first -- true
  run -75 dlock run -q -n kept -- true
  # A process that is watched there is another one here.
  run -0 unshare -pf --mount-proc sh -c 'sleep 1000 & dlock acquire --watch-pid $! watched && dlock inspect watched'
  [[ "$output" == *"until process "*" ends"* ]]
  run -75 dlock run -q -n watched -- true
}

@test "a reboot ends a lease, --at-least, what --once remembers, and a lock-delay" {
  unshare -m true 2>/dev/null || skip "no right to make a mount namespace"
  after_reboot() { unshare -m sh -c 'mount --bind "$PWD/boot_id" /proc/sys/kernel/random/boot_id && exec "$@"' - "$@"; }
  leave_leases
  run -0 dlock acquire --ttl 1m shared -s
  start_watched end dlock run --lock-delay 1m delayed -- work cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of end)" "$(pid_of cmd)"
  [ "$(how_ended end)" = "signal 9" ]
  is_delayed() { dlock inspect delayed | grep -q 'lease ended, lock-delay runs'; }
  wait_until is_delayed
  run -75 dlock run -q -n delayed -- true # the delay has begun
  cat /proc/sys/kernel/random/uuid >boot_id
  leases_are_kept
  run -0 after_reboot dlock inspect acquired
  [[ "$output" == *free* ]]
  for key in acquired watched kept shared delayed permits; do
    run after_reboot dlock run -n "$key" -- true
    [ "$key $status" = "$key 0" ]
  done
  run -0 after_reboot dlock run -q --once s1 slots -- sh -c 'echo ran >>ran'
  [ "$(wc -l <ran)" = 2 ]
  # What is taken in that boot holds in it, beside the records of the earlier one.
  run -0 after_reboot dlock acquire --ttl 1m acquired
  run -75 after_reboot dlock run -q -n acquired -- true
}

@test "who waits for a lease has the lock when its time is over, and at once when it is released or its process ends" {
  local owner watched
  read -r owner _ < <(dlock acquire --ttl 2s k)
  start_watched waiter dlock run k -- touch over
  wait_until has 1 waiters k
  [ ! -e over ]
  [ "$(how_ended waiter)" = "exit 0" ]
  read -r owner _ < <(dlock acquire --ttl 1h k)
  start_watched waiter dlock run k -- touch released
  wait_until has 1 waiters k
  run -0 dlock release --owner "$owner" k
  [ "$(how_ended waiter)" = "exit 0" ]
  start sleep 1000
  watched=$started_pid
  dlock acquire --watch-pid "$watched" k
  start_watched waiter dlock run k -- touch ended
  start_watched shared dlock run -s k -- touch shared
  wait_until has 2 waiters k
  kill "$watched"
  [ "$(how_ended waiter), $(how_ended shared)" = "exit 0, exit 0" ]
}

@test "leases share a key as processes do: readers, permits with their slots" {
  dlock acquire --ttl 1m -s k
  read -r owner _ < <(dlock acquire --ttl 1m -s k)
  run -0 dlock run -n -s k -- true
  run -75 dlock run -q -n k -- true
  run -78 dlock run -n --permits 2 k -- true
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

# Contenders that slept and tried again would be told after ten seconds that the database is busy.
# bats test_tags=all
@test "a crowd of 300 shells takes from one stock of this machine: each is served" {
  local i
  dlock stock create phone --quantity 1000 --segments 10
  for ((i = 1; i <= 300; i++)); do
    start sh -c 'dlock stock take phone --id "o-$1" >/dev/null 2>"said.$1"; echo $? >"ended.$1"' sh "$i"
  done
  for ((i = 1; i <= 300; i++)); do wait_until filled "ended.$i"; done
  [ "$(cat ended.* | sort | uniq -c | xargs)" = "300 0" ] || { cat said.* | sort | uniq -c; false; }
  [ "$(dlock stock show phone --json | jq .total)" = 700 ]
}
