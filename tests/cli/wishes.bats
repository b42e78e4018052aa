# SPDX-License-Identifier: Apache-2.0
# What revoke, --replace, --newest, --once and --at-least do where something is in their way, on each lock store of
# backends/*/conformance.txt. Their plain use is in stores.bats.
load ../support/cli
load ../support/stores

setup() {
  set_world
  [ "${DLOCK_TEST_SERVERS-}" ] || skip "no servers: scripts/start-test-servers /tmp/s && . /tmp/s/env"
  # deaf PIDFILE: ignores TERM, and runs until the file go is there.
  script deaf <<'SCRIPT'
#!/bin/bash
trap 'echo asked >>asked' TERM
echo $$ >"$1"
until [ -e go ]; do sleep 0.02; done
SCRIPT
}
teardown() { end_world; }

shared_asked() {
  can revokes && can shared || return 0
  local n
  rm -f one* pid*
  for n in 1 2 3; do
    start_watched "one$n" dlock run -q --shared -t 3s "$key" -- sh -c 'echo $$ >pid'"$n"'; exec sleep 100'
    wait_until filled "pid$n"
  done
  run -0 dlock revoke -w 20s "$key"
  [ "$(grep -c "has ended and released it" <<<"$output")" = 3 ]
  for n in 1 2 3; do [ "$(how_ended "one$n")" = "exit 79" ]; done
  is_free "$key"
}
@test "each store with readers: revoke asks all of them, and the lock is free" { on_each_store shared_asked; }

hold_asked() {
  can revokes || return 0
  rm -f out end
  # The script reads the end of the file while its own end of the pipe is open.
  cat >script.sh <<'SCRIPT'
coproc HOLD { dlock hold -t 3s "$1"; }
read -r line <&"${HOLD[0]}"; echo "$line" >out
pid=$HOLD_PID
if read -r line <&"${HOLD[0]}"; then echo "$line" >end; else echo eof >end; fi
wait "$pid"; echo "$?" >>end
SCRIPT
  start_watched waiter bash script.sh "$key"
  wait_until filled out
  run -0 dlock revoke -w 20s "$key"
  is_free "$key"
  [ "$(how_ended waiter)" = "exit 0" ]
  [ "$(tr '\n' ' ' <end)" = "eof 79 " ]
}
@test "each store: the script of a hold that is revoked reads the end of the file, and the lock is free" { on_each_store hold_asked; }

watched_lease_asked() {
  can revokes && can detaches || return 0
  local watched
  sleep 100 3>&- & watched=$!
  run -0 dlock acquire --watch-pid "$watched" -t 3s "$key"
  run -0 dlock revoke -w 20s "$key"
  echo "$output"
  is_free "$key"
  kill -0 "$watched"
  kill "$watched"
}
@test "each store that can: a lease of a watched process is given back when it is revoked; the process goes on" { on_each_store watched_lease_asked; }

asked_twice() {
  can revokes || return 0
  rm -f go asked one* next
  start_watched waiter dlock run -q -t 6s --on-lost signal:TERM --events "$PWD/events" "$key" -- deaf pid
  wait_until filled pid
  start_watched one1 dlock revoke -w 20s -m first "$key"
  wait_until filled asked
  start_watched one2 dlock revoke -w 20s -m second "$key"
  start_watched one3 dlock revoke -w 20s -m killed "$key"
  run -75 dlock revoke -w 100ms -m third "$key"
  kill -KILL "$(pid_of one1)" "$(pid_of one3)" # whoever asked need not be there
  [ "$(wc -l <asked)" = 1 ]
  is_held "$key"
  start_watched next dlock run -q "$key" -- sh -c '! kill -0 "$(cat pid)" 2>/dev/null && touch ran'
  touch go
  [ "$(how_ended waiter)" = "exit 79" ]
  [ "$(how_ended one2)" = "exit 0" ]
  [ "$(how_ended next)" = "exit 0" ]
  [ -e ran ]
  [ "$(wc -l <asked)" = 1 ]
  jq -se --arg by "revoked by $(id -un)@$(hostname): first" --arg key "$key" 'any(.[]; .key == $key and .event == "lost" and .why == $by)' events
}
@test "each store: a second revoke while the first is at work, and revokers that are killed" { on_each_store asked_twice; }

asked_while_it_ends() {
  can revokes || return 0
  local n
  for n in 1 2 3 4 5 6; do
    rm -f one1 pid
    start_watched one1 dlock run -q "$key" -- sh -c 'echo $$ >pid; sleep 0.0'"$n"
    wait_until filled pid
    sleep "0.0$n"
    run -0 dlock revoke -w 20s "$key"
    [[ "$(how_ended one1)" = "exit 0" || "$(how_ended one1)" = "exit 79" ]]
    is_free "$key"
    run -0 dlock run -n "$key" -- true # nothing of the word is left for the next one
  done
}
@test "each store: a revoke that meets the release" { on_each_store asked_while_it_ends; }

# One that is stopped has it still; one that came in while it was waited for was never asked.
forced_beside_others() {
  can revokes && can shared || return 0
  local processes
  rm -f one* pid*
  start_watched one1 dlock run -q -t 20s --shared "$key" -- sh -c 'echo $$ >pid1; exec sleep 100'
  wait_until filled pid1
  mapfile -t processes < <(pid_of one1; keeper_of one1; cat pid1)
  kill -STOP "${processes[@]}"
  start_watched waiter dlock revoke -w 2s --force "$key"
  start_watched one2 dlock run -q -t 20s --shared "$key" -- sh -c 'echo $$ >pid2; exec sleep 100'
  wait_until filled pid2
  [ "$(how_ended waiter)" = "exit 75" ]
  [ ! -e one2 ]
  run -0 dlock revoke -w 2s --force "$key"
  [ "$(how_ended one2)" = "exit 79" ]
  is_free "$key"
  kill -CONT "${processes[@]}"
  [ "$(how_ended one1)" = "exit 79" ]
}
# bats test_tags=all
@test "each store: --force takes the lock from those that were asked, and from none that came in since" { on_each_store forced_beside_others; }
