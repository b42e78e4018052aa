# SPDX-License-Identifier: Apache-2.0
# A run that is stuck: --max-hold ends it, --warn-held tells of it. On every store: locks_and_excludes in ../support/cli.bash.
load ../support/cli

setup() {
  set_world
  script_victims
}
teardown() { end_world; }

@test "max-hold: CMD and all its descendants get TERM, one line says so, and the status is 124 although CMD returned 0" {
  script family <<'SCRIPT'
#!/bin/bash
setsid note session &
until [ -s session.pid ]; do sleep 0.1; done
exec note cmd
SCRIPT
  run -124 --separate-stderr dlock run -q --max-hold 700ms --report report k -- family
  [ "$output" = "" ]
  [ "$(sort got)" = "cmd TERM
session TERM" ]
  [[ "$stderr" == *"dlock: k was held for "*", as long as --max-hold allows; sent TERM to pid $(pid_of cmd), KILL follows in 5 s"* ]]
  [ "$(grep -c ^dlock: <<<"$stderr")" = 1 ]
  [ "$(jq -c '[.outcome, .exit_code, .signal]' report)" = '["overheld",124,null]' ]
  [ "$(jq '.held_ms >= 700' report)" = true ]
  ended "$(pid_of cmd)"
  ended "$(pid_of session)"
  is_free k
}

@test "max-hold: KILL follows after --kill-after, and the lock is held until CMD is gone" {
  start_watched end dlock run -q --max-hold 300ms --kill-after 1s k -- stubborn cmd
  wait_until lines_in got 1
  run -75 dlock run -q -n k -- true
  [ "$(how_ended end)" = "exit 124" ]
  ended "$(pid_of cmd)"
  is_free k
}

@test "max-hold: a CMD that ends in time returns what it returned" {
  run -7 --separate-stderr dlock run --max-hold 20s k -- sh -c 'exit 7'
  [ "$stderr" = "" ]
}

@test "max-hold: it counts from the grant, not from the call" {
  hold_lock k
  start_watched end dlock run -q --max-hold 1500ms k -- note cmd
  wait_until has 1 waiters k
  local from=$((SECONDS + 2))
  wait_until eval '[ $SECONDS -gt '$from' ]'
  let_go
  wait_until filled cmd.pid
  touch finish
  [ "$(how_ended end)" = "exit 9" ]
}

# bats test_tags=all
@test "max-hold: --on-lost signal:URG does not save CMD, nor that it was stopped" {
  start_watched end dlock run -q --max-hold 500ms --kill-after 200ms --on-lost signal:URG k -- note cmd
  wait_until filled cmd.pid
  kill -STOP "$(pid_of cmd)"
  [ "$(how_ended end)" = "exit 124" ]
  ended "$(pid_of cmd)"
}

@test "max-hold: what CMD has started is found with hardly a descriptor left; where it cannot be, that is told, and CMD ended" {
  # It cannot redirect: that costs a shell a descriptor above 9.
  run -124 bash -c 'ulimit -Sn 9; exec dlock run -q --max-hold "$0" k -- sh -c "sleep 300 & echo \$!; wait" 3>&- 4>&- 5>&-' "$((300 * slowness))ms"
  [[ "${lines[0]}" =~ ^[0-9]+$ ]]
  wait_until ended "${lines[0]}"
  unshare -pf true 2>/dev/null || skip "no right to make a pid namespace"
  run -124 unshare -pf --kill-child dlock run --max-hold 100ms k -- sleep 300 # /proc is that of the outer one
  [[ "$output" == *"cannot see what the command has started, so only the command itself is ended"* ]]
}

# bats test_tags=all
@test "max-hold: who forks and ends again and again is not missed: the lock is held until the last of them is gone" {
  unshare -pf --mount-proc true 2>/dev/null || skip "no right to make a pid namespace"
  local chain="'$programs/fork_chain' beats & until [ -s beats ]; do sleep 0.1; done; sleep 300"
  for _ in 1 2 3; do
    rm -f beats
    run -124 unshare -pf --mount-proc sh -c 'dlock run -q --max-hold 200ms -k 50ms k -- sh -c "$1"; status=$?
      wc -c <beats; sleep 0.2; wc -c <beats; exit $status' sh "$chain"
    [ "${lines[-1]}" = "${lines[-2]}" ]
  done
}

# bats test_tags=all
@test "max-hold: an inner run ends alone, and the outer one goes on and holds" {
  run -3 --separate-stderr dlock run k -- sh -c 'dlock run -q --max-hold 300ms k -- note cmd; echo "inner $?"; dlock inspect --json k | jq -r ".holders[0].count"; exit 3'
  [ "$output" = "inner 124
1" ]
}

@test "max-hold: hold gives the lock back, and its status is 124" {
  mkfifo stdin
  exec {open}<>stdin
  run -124 --separate-stderr dlock hold --max-hold 300ms k <stdin
  exec {open}>&-
  [[ "$output" =~ ^[0-9a-f]+\ [0-9]+$ ]]
  [[ "$stderr" == "dlock: k was held for "*", as long as --max-hold allows"* ]]
  is_free k
}

@test "max-hold: DLOCK_MAX_HOLD and the configuration say it too; acquire has a ttl instead" {
  run -124 env DLOCK_MAX_HOLD=300ms dlock run -q k -- note cmd
  mkdir -p "$HOME/.config/dlock"
  printf '[defaults]\nmax-hold = 0.3\n' >"$HOME/.config/dlock/config.toml"
  run -124 dlock run -q k -- note cmd
  run -64 dlock acquire --ttl 1m --max-hold 1s k
  [[ "$output" == *"'dlock acquire' has no option --max-hold"* ]]
}

@test "warn-held: a busy attempt that finds the lock held for longer says by whom, with -E 0 and -q, and exits as asked" {
  hold_lock -m 'monthly report' k
  local way
  for way in "-n" "-w 50ms" "--tries 2 --retry-interval 10ms"; do
    # shellcheck disable=SC2086 # options
    run -3 --separate-stderr dlock run $way -q -E 0 --warn-held 0=3 k -- touch ran
    [[ "$stderr" == "dlock: k is held by "*"pid $holder)"*" for "*"monthly report"*"longer than 0 s (--warn-held)"* ]]
    [[ "$stderr" == *"dlock force-release k" ]]
  done
  run -0 dlock run -n -E 0 --warn-held 0 k -- touch ran
  [[ "$output" == "dlock: k is held by "* ]]
  run -75 dlock run -n -q --warn-held 0 k -- touch ran
  [[ "$output" == "dlock: k is held by "* ]]
  run -3 dlock wait -n -q --warn-held 0=3 k
  run -3 dlock acquire -n -q --ttl 1m --warn-held 0=3 k
  run -3 env DLOCK_WARN_HELD=0=3 dlock run -n -q k -- true
  [ ! -e ran ]
}

@test "warn-held: a hold that is younger changes nothing" {
  hold_lock k
  run -0 dlock run -n -E 0 --warn-held 1h=3 k -- touch ran
  [ "$output" = "" ]
  run -75 dlock run -n --warn-held 1h=3 k -- touch ran
  [[ "$output" != *--warn-held* ]]
}

@test "warn-held: of several keys the one is named that is in the way" {
  hold_lock b
  run -3 dlock run -n -q --warn-held 0=3 a b c -- touch ran
  [[ "$output" == "dlock: b is held by "* ]]
}

@test "warn-held: of a lock file that another program holds nobody knows since when, and that is said" {
  start flock "$BATS_TEST_TMPDIR/file" sleep 100
  wait_until eval '! flock -n "$BATS_TEST_TMPDIR/file" true'
  run -0 dlock run -n -E 0 --warn-held 0=3 "$BATS_TEST_TMPDIR/file" -- touch ran
  [[ "$output" == "dlock: --warn-held says nothing of $BATS_TEST_TMPDIR/file: it is not known since when it is held" ]]
}
