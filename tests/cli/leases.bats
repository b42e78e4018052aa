# SPDX-License-Identifier: Apache-2.0
# What `acquire`, `--at-least` and `--once` leave without a process is the same on every store: a store of each protocol,
# and those of a protocol that decide otherwise. Stores that come back: faults/wishes.bats.
load ../support/cli
load ../support/stores

setup() {
  set_world
  need_servers
}
teardown() { end_world; }

on_all_stores() { on_each_store "$1" redlock tair; }

# The processes of dlock's that were started in this test and live.
processes() {
  local pid
  for pid in $(ps -eo pid=,stat=,comm= | awk '$2 !~ /^Z/ && $3 ~ /^dlock/ { print $1 }'); do
    [[ $(readlink "/proc/$pid/cwd" 2>/dev/null)/ != "$PWD"/* ]] || echo "$pid"
  done
}
no_process() { [ -z "$(processes)" ]; }
nobody_else() { # OWNER: gives it back, or makes it last longer
  run -79 dlock release --owner 00000000000000000000000000000000 "$key"
  run -79 dlock renew --ttl 30s --owner 00000000000000000000000000000000 "$key"
  run -0 dlock gc
  run -75 dlock run -q -n "$key" -- touch ran
  [ ! -e ran ]
}
is_over_for() { # OWNER
  run -79 dlock renew --ttl 30s --owner "$1" "$key"
  run -79 dlock release --owner "$1" "$key"
  run -0 dlock release --if-held --owner "$1" "$key"
}

counted() {
  hold_lock "$key"
  ! no_process
  let_go
  wait_until no_process
}
@test "each store: what holds a lock with a process has one, which these tests count" { on_all_stores counted; }

# Where the lock is the connection, nothing is left without a process.
leaves() {
  ! can detaches || return 0
  run -78 dlock acquire --ttl 5m "$key"
  run -78 dlock run --at-least 5m "$key" -- touch ran
  [ ! -e ran ]
  return 1
}

acquired() {
  leaves || return 0
  local owner token
  run -0 --separate-stderr dlock acquire --ttl 5m -m why "$key"
  read -r owner token <<<"$output"
  wait_until no_process
  run -0 dlock inspect --json "$key"
  jq -e --arg owner "$owner" '.holders[0] | .owner == $owner and .lease and .pid == null and .reason == "why" and
    (.until | .[0:19] + "Z" | fromdate - now | . > 200 and . < 301)' <<<"$output"
  nobody_else
  run -0 dlock renew --ttl 10m --owner "$owner" "$key"
  wait_until no_process
  local has_token='' # some layouts of other clients have none
  [[ ! $token =~ ^[0-9]+$ ]] || has_token=yes
  if [ "$has_token" ]; then
    run -0 dlock check "$key" "$token"
    run -79 dlock check "$key" "$((token + 1))"
  fi
  run -0 dlock release --owner "$owner" "$key"
  is_over_for "$owner"
  [ ! "$has_token" ] || run -79 dlock check "$key" "$token"
  run -0 dlock run -n "$key" -- true
  # It ends by itself, whoever waits for it or does not.
  owner=$(dlock acquire --ttl 1s "$key" | cut -d' ' -f1)
  run -0 dlock run -q -w 20s "$key" -- true
  is_over_for "$owner"
  owner=$(dlock acquire --ttl 1s "$key" | cut -d' ' -f1)
  wait_until is_free "$key"
  is_over_for "$owner"
  run -0 dlock gc
  run -0 dlock run -n "$key" -- true
}
@test "each store: acquire leaves a lease that its owner alone renews and releases, until it ends; and no process" { on_all_stores acquired; }

inside() {
  leaves || return 0
  # shellcheck disable=SC2016
  run -0 bash -c 'eval "$(dlock acquire --shell --ttl 5m "$1")" || exit
    dlock run -n "$1" -- touch ran || exit
    env -u DLOCK_HELD dlock run -q -n "$1" -- true
    [ $? = 75 ] || exit 1
    dlock release --owner "$DLOCK_OWNER" "$1"' - "$key"
  [ -e ran ]
  is_free "$key"
  wait_until no_process
}
@test "each store: a run inside what acquire holds joins it, and leaves it held" { on_all_stores inside; }

kept() {
  leaves || return 0
  local owner both
  run -4 dlock run --at-least 5m "$key" -- sh -c 'echo "$DLOCK_OWNER" >owner; exit 4'
  owner=$(<owner)
  wait_until no_process
  run -0 dlock inspect "$key"
  [[ "$output" == *"ran on "*"status 4"*"kept until"* ]]
  nobody_else
  run -0 dlock release --owner "$owner" "$key"
  is_free "$key"
  # dlock is killed: what its keeper leaves, which ends the command.
  rm -f pid waiter
  start_watched waiter dlock run -q --at-least 5m -t 2s --kill-after 100ms "$key" -- sh -c 'echo $$ >pid; exec sleep 100'
  wait_until filled pid
  kill -KILL "$(pid_of waiter)"
  wait_until ended "$(<pid)"
  wait_until no_process
  nobody_else
  wait_until shows "ended with dlock"
  run -0 dlock revoke -w 10s "$key"
  is_free "$key"
  # It is stopped when its command ends.
  rm -f pid waiter
  start_watched waiter dlock run -q --at-least 5m -t 2s "$key" -- sh -c 'echo $$ >pid; exec sleep 1'
  wait_until filled pid
  kill -STOP "$(pid_of waiter)"
  wait_until ended "$(<pid)"
  nobody_else
  kill -CONT "$(pid_of waiter)"
  [ "$(how_ended waiter)" = "exit 0" ]
  wait_until no_process
  nobody_else
  run -0 dlock force-release --yes "$key"
  # Everything of dlock's is killed: for longer than the ttl.
  rm -f pid waiter
  start_watched waiter dlock run -q --at-least 70s -t 2s "$key" -- sh -c 'echo $$ >pid; exec sleep 100'
  wait_until filled pid
  mapfile -t both < <(pid_of waiter; keeper_of waiter)
  kill -KILL "${both[@]}"
  wait_until ended "$(<pid)"
  wait_until no_process
  run -75 dlock run -q -w 3s "$key" -- touch ran
  nobody_else
  run -0 dlock force-release --yes "$key"
  run -0 dlock run --at-least 1s "$key" -- true
  run -0 dlock run -q -w 20s "$key" -- true
}
shows() { [[ "$(dlock inspect "$key")" == *"$1"* ]]; } # TEXT
@test "each store: --at-least keeps the lock without a process, whatever is stopped or killed" { on_all_stores kept; }

remembered() {
  key+=-$RANDOM # what is remembered outlives a run of this test
  rm -f runs pid waiter
  local n
  for n in 1 2; do run -0 dlock run --once s "$key" -- sh -c 'echo run >>runs'; done
  [ "$(<runs)" = run ]
  wait_until no_process
  is_free "$key"
  run -0 dlock gc
  run -0 dlock inspect "$key"
  [[ "$output" == *"slot s"* ]]
  run -0 dlock run --once s "$key" -- sh -c 'echo run >>runs'
  # One that was killed has not run.
  start_watched waiter dlock run -q -t 2s --kill-after 100ms --once k "$key" -- sh -c 'echo $$ >pid; exec sleep 100'
  wait_until filled pid
  kill -KILL "$(pid_of waiter)"
  wait_until ended "$(<pid)"
  run -0 dlock run -q -w 30s --once k "$key" -- sh -c 'echo killed >>runs'
  run -0 dlock release --slot s "$key"
  run -0 dlock run --remember 1s --once s "$key" -- sh -c 'echo again >>runs'
  wait_until forgets s
  run -0 dlock gc
  run -0 dlock run --once s "$key" -- sh -c 'echo past >>runs'
  [ "$(tr '\n' ' ' <runs)" = "run killed again past " ]
  for n in s k; do run -0 dlock release --slot "$n" "$key"; done
  wait_until no_process
}
forgets() { [[ "$(dlock inspect "$key")" != *"slot $1"* ]]; } # SLOT
@test "each store: --once remembers a slot without a process, for as long as it was asked to" { on_all_stores remembered; }
