# SPDX-License-Identifier: Apache-2.0
# What revoke, --replace, --newest, --once and --at-least do where something is in their way, on each lock store of
# backends/*/conformance.txt. Their plain use is in stores.bats.
load ../support/cli
load ../support/stores

setup() {
  set_world
  need_servers
  # deaf PIDFILE: ignores TERM, and runs until the file go is there.
  script deaf <<'SCRIPT'
#!/bin/bash
trap 'echo asked >>asked' TERM
echo $$ >"$1"
until [ -e go ]; do sleep 0.1; done
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
  can revokes && can detaches && can watches || return 0
  local watched
  sleep 100 3>&- & watched=$!
  run -0 dlock acquire --watch-pid "$watched" -t 3s "$key"
  run -0 dlock revoke -w 20s "$key"
  run -0 dlock run -n "$key" -- true # at once: its keeper is in nobody's way
  kill -0 "$watched"
  run -0 --separate-stderr dlock acquire --watch-pid "$watched" "$key"
  run -0 dlock release --owner "${output%% *}" "$key"
  run -0 dlock run -n "$key" -- true
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
# bats test_tags=all
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
# bats test_tags=all
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

# What ends, and with which word, is told by the status; nothing is left in the queue, and nothing of the lock.
replaced() {
  can revokes && can sees_waiters || return 0
  local n
  rm -f one* pid*
  if can shared; then
    for n in 1 2; do
      start_watched "one$n" dlock run -q --shared -t 3s "$key" -- sh -c 'echo $$ >pid'"$n"'; exec sleep 100'
      wait_until filled "pid$n"
    done
    run -0 dlock run -q -w 20s --replace "$key" -- touch ran
    for n in 1 2; do [ "$(how_ended "one$n")" = "exit 79" ]; done
    [ -e ran ]
    is_free "$key"
  fi
  # Who is inside is not in its own way.
  run -0 dlock run "$key" -- dlock run --replace -w 10s "$key" -- dlock run --newest -w 10s "$key" -- true
  run -79 dlock run -q -t 3s "$key" -- dlock revoke "$key"
  is_free "$key"
  # One of those that wait for the newest gives up: it leaves nothing, and the running one has heard nothing.
  rm -f one*
  hold_lock "$key"
  start_watched one1 dlock run -q --newest "$key" -- touch one
  wait_until has 1 waiters "$key"
  run -75 dlock run -q --newest -w 3s "$key" -- touch one
  [ "$(how_ended one1)" = "exit 75" ]
  has 0 waiters "$key"
  [ ! -e one ]
  start_watched one2 dlock run -q --newest "$key" -- touch one
  wait_until has 1 waiters "$key"
  kill -KILL "$(pid_of one2)" # nor does one that is killed
  wait_until has 0 waiters "$key"
  let_go
  is_free "$key"
  # The one that was to be replaced ends by itself before it hears.
  start_watched one3 dlock run -q "$key" -- sh -c 'echo $$ >pid3; sleep 0.2'
  wait_until filled pid3
  run -0 dlock run -q -w 20s --replace "$key" -- true
  [[ "$(how_ended one3)" = "exit 0" || "$(how_ended one3)" = "exit 79" ]]
  run -0 dlock run -n "$key" -- true
}
# bats test_tags=all
@test "each store whose queue shows it: readers are replaced, who is inside replaces nobody, and who gives up leaves nothing" { on_each_store replaced; }

forgets() { ! dlock inspect "$1" | grep -q "slot $2 "; } # KEY SLOT

# A shell for the command: the pid of its dlock is in waiter.pid.
once_and_killed() {
  local keeper n
  key+=-$RANDOM
  rm -f runs go
  # Between the end of the command and the record: it has not run, and runs again. At least once is what is promised.
  start_watched waiter dlock run -t 2s --once s "$key" -- sh -c 'echo run >>runs; until [ -s waiter.pid ]; do sleep .02; done; kill -KILL "$(cat waiter.pid)"'
  [ "$(how_ended waiter)" = "signal 9" ]
  run -0 dlock run -w 20s --once s "$key" -- sh -c 'echo run >>runs'
  [ "$(wc -l <runs)" = 2 ]
  run -0 dlock run -n --once s "$key" -- sh -c 'echo run >>runs'
  [ "$(wc -l <runs)" = 2 ]
  # Without its keeper, and without both, what has not been remembered runs again, and never hangs.
  rm -f waiter
  start_watched waiter dlock run -q -t 2s --once s2 "$key" -- sh -c 'echo $$ >pid; until [ -e go ]; do sleep .02; done'
  wait_until filled pid
  if keeper=$(keeper_of waiter); then
    kill -KILL "$keeper"
    [ "$(how_ended waiter)" = "exit 79" ]
    rm -f pid waiter
    start_watched waiter dlock run -w 20s -q -t 2s --once s2 "$key" -- sh -c 'echo $$ >pid; until [ -e go ]; do sleep .02; done'
    wait_until filled pid
    kill -KILL "$(keeper_of waiter)" "$(pid_of waiter)"
  else
    kill -KILL "$(pid_of waiter)"
  fi
  wait_until ended "$(<pid)"
  run -0 dlock run -w 20s --once s2 "$key" -- sh -c 'echo again >>runs'
  [ "$(tail -n 1 runs)" = again ]
  # What is out of date goes, what is remembered stays.
  run -0 dlock run --once s3 --remember 1s "$key" -- true
  wait_until forgets "$key" s3
  run -0 dlock gc
  [[ $DLOCK_BACKEND == redlock:* || "$output" == *"slot s3 of $key: the "*" of a slot that is not remembered"* ]]
  run -0 dlock inspect "$key"
  [[ "$output" == *"status 0)"*"slot s"*"slot s2"* ]]
  [[ "$output" != *"slot s3"* && "$output" != *"ended with dlock"* ]]
  run -0 dlock gc --dry-run
  [[ "$output" != *"of $key"* ]]
  run -0 dlock run --once s "$key" -- sh -c 'echo run >>runs'
  [ "$(tail -n 1 runs)" = again ]
  once_and_kept
  run -64 dlock run --once s6 --remember 400d "$key" -- touch ran
  run -64 dlock run --once s6 --remember 0 "$key" -- touch ran
  run -0 dlock run --once s6 --remember 366d "$key" -- true
  run -79 dlock release --slot s7 "$key"
  run -0 dlock release --slot s7 --if-held "$key"
  for n in s s2 s6; do run -0 dlock release --events "$PWD/forgotten" --slot "$n" "$key"; done
  [ "$(jq -r 'select(.event == "released" and .lease and .owner) | .key' forgotten | wc -l)" = 3 ]
  rm forgotten
  run -0 dlock inspect "$key"
  [[ "$output" != *"slot s"* ]]
  [ ! -e ran ]
}
# bats test_tags=all
@test "each store: a slot whose run was killed runs again, and gc leaves what is remembered" { on_each_store once_and_killed; }

# Together with --at-least: kept, and remembered.
once_and_kept() {
  can detaches || return 0
  run -0 dlock run --once s4 --at-least 20s "$key" -- true
  run -75 dlock run -q -n "$key" -- true
  run -0 dlock run -n --once s4 "$key" -- sh -c 'echo run >>runs'
  [ "$(tail -n 1 runs)" = again ]
  run -0 dlock force-release --yes "$key"
  # Of a lost lock nothing is remembered, nor kept.
  rm -f pid waiter events5
  start_watched waiter dlock run -q --events "$PWD/events5" --once s5 --at-least 20s -t 3s --on-lost signal:URG "$key" -- sh -c 'echo $$ >pid; until [ -e go ]; do sleep .02; done'
  wait_until filled pid
  run -0 dlock force-release --yes "$key"
  wait_until grep -q '"lost"' events5
  touch go
  how_ended waiter
  is_free "$key"
  run -0 dlock run -n --once s5 "$key" -- sh -c 'echo five >>runs'
  [ "$(tail -n 1 runs)" = five ]
  for n in s4 s5; do run -0 dlock release --slot "$n" "$key"; done
}

kept_without_both() {
  can detaches || return 0
  local both
  rm -f next next_ran
  start_watched waiter dlock run -q --at-least 70s -t 2s --kill-after 100ms "$key" -- sh -c 'echo $$ >pid; exec sleep 100'
  wait_until filled pid
  mapfile -t both < <(pid_of waiter; keeper_of waiter)
  kill -KILL "${both[@]}"
  wait_until ended "$(<pid)"
  run -75 dlock run -q -w 2500ms "$key" -- touch ran # longer than the ttl
  [ ! -e ran ]
  run -75 dlock wait -n "$key"
  # Whoever waits has it as soon as it is taken from the dead.
  start_watched next dlock run -q "$key" -- touch next_ran
  if can sees_waiters; then wait_until has 1 waiters "$key"; fi
  run -0 dlock force-release --yes "$key"
  [ "$(how_ended next)" = "exit 0" ]
  [ -e next_ran ]
  is_free "$key"
  # The keeper alone: the lock is lost, with nothing to keep; and nobody is in before the lease has ended.
  if can revokes; then
    rm -f pid waiter
    start_watched waiter dlock run -q --at-least 20s -t 2s "$key" -- sh -c 'echo $$ >pid; exec sleep 100'
    wait_until filled pid
    run -0 dlock revoke -w 20s "$key"
    [ "$(how_ended waiter)" = "exit 79" ]
    is_free "$key"
  fi
}
# bats test_tags=all
@test "each store that can keeps the lock for --at-least, also when everything of dlock's was killed; not when it is revoked" { on_each_store kept_without_both; }
