# SPDX-License-Identifier: Apache-2.0
# What every store does alike at the command line, for each lock store of backends/*/conformance.txt. What one store has of
# its own is in redis.bats, redisson.bats, mysql.bats and zookeeper.bats.
load ../support/cli
load ../support/stores

setup() {
  set_world
  need_servers
}
teardown() { end_world; }

held_and_seen() {
  run -7 --separate-stderr dlock run "$key" -- sh -c 'echo "$DLOCK_STORE $DLOCK_TOKEN"; exit 7'
  [ "$stderr" = "" ]
  local token=${output##* }
  hold_lock -m "it's \"why\"; -- \\ ünï" "$key"
  if can tokens; then [ "$holder_token" -gt "$token" ]; fi
  run -75 dlock run -n "$key" -- touch ran
  [[ "$output" == *"$key is held by"* ]]
  run -0 --separate-stderr dlock inspect --json "$key"
  jq -e --arg owner "$holder_owner" --arg user "$(id -un)" '.schema == "dlock.inspect/2" and (.holders | length == 1) and
    (.holders[0] | .owner == $owner and .user == $user and .pid > 0 and .since != null and
      .reason == "it'"'"'s \"why\"; -- \\ ünï")' <<<"$output"
  run -0 dlock inspect
  [[ "$output" == *"$key"* ]]
  start_watched waiter dlock run -q "$key" -- touch waited
  if can sees_waiters; then wait_until has 1 waiters "$key"; else wait_until keeper_of waiter; fi
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
  [ -e waited ]
  [ ! -e ran ]
  is_free "$key"
}
@test "each store runs, excludes, shows who holds and why, serves who waits, and is free afterwards" {
  on_each_store held_and_seen redlock 'redisson, fenced' 'mysql, session' 'postgres, session'
}

limited() {
  hold_lock "$key"
  run -3 dlock run -n -q -E 0 --warn-held 0=3 "$key" -- touch ran
  [[ "$output" == *"$key is held by "*" for "*"longer than 0 s (--warn-held)"* ]]
  run -0 dlock run -n -E 0 --warn-held 1h=3 "$key" -- touch ran
  [ "$output" = "" ]
  let_go
  run -124 dlock run --max-hold 300ms "$key" -- sleep 100
  [[ "$output" == *"$key was held for "*"as long as --max-hold allows"* ]]
  is_free "$key"
  [ ! -e ran ]
}
@test "each store tells of a hold that is too long, and ends it" { on_two_stores limited; }

unprinted() {
  can detaches || return 0
  local options
  for options in "--ttl 1m" "--watch-pid $$" "--ttl 1m --shell" "--ttl 1m --json"; do
    [[ $options != *watch* ]] || can watches || continue
    rm -f events
    run bash -c "dlock acquire --events ./events $options $key >/dev/full"
    echo "$options: $status $output"
    [ "$status" = 71 ]
    [[ "$output" == *"cannot write to stdout: No space left"*"the lock on $key was released"* ]]
    run -0 dlock run -n "$key" -- true
    [ "$(grep -o '"event":"[a-z]*"' events | tr '\n' ' ')" = '"event":"granted" "event":"released" ' ]
  done
}
@test "each store that can gives a lease back whose handle cannot be printed, and records that" { on_two_stores unprinted; }

held_by_a_process() {
  can detaches || return 0
  local owner
  script inside <<'SCRIPT'
#!/bin/bash
dlock acquire --ttl 1s "$1"
echo "acquire: $?"
dlock renew --ttl 1s --owner "$DLOCK_OWNER" "$1"
echo "renew: $?"
dlock release --owner "$DLOCK_OWNER" "$1"
echo "release: $?"
sleep 1.5
env -u DLOCK_HELD dlock run -q -n "$1" -- echo overlap
echo "run: $?"
SCRIPT
  run -0 dlock run --ttl 30s "$key" -- inside "$key"
  echo "$output"
  [ "${lines[0]}" = "dlock: the lock is already held by an outer command" ]
  [[ "$output" == *$'\nacquire: 78\n'*$'\nrenew: 78\n'*$'\nrelease: 78\n'*"run: 75" ]]
  is_free "$key"
  if ! can watches; then
    run -78 dlock acquire --watch-pid $$ "$key"
    return
  fi
  run -0 --separate-stderr dlock acquire --watch-pid $$ "$key"
  owner=${output%% *}
  run -78 dlock renew --ttl 1s --owner "$owner" "$key"
  run -0 dlock release --owner "$owner" "$key"
  wait_until is_free "$key"
}
@test "each store that can: acquire, renew and release of what a process holds are 78, and change nothing" { on_two_stores held_by_a_process; }

kept() {
  if ! can detaches; then
    run -78 dlock run --at-least 20s "$key" -- touch ran
    [ ! -e ran ]
    return
  fi
  local began=$SECONDS owner
  rm -f events report
  run -4 dlock run --at-least 20s --events "$PWD/events" --report report "$key" -- sh -c 'echo "$DLOCK_OWNER" >owner; exit 4'
  ((SECONDS - began < 10))
  owner=$(<owner)
  run -75 dlock run -n "$key" -- touch ran
  [[ "$output" == *"$key is kept by "*"status 4), which ran "*" ago"* ]]
  run -0 dlock inspect "$key"
  [[ "$output" == *"kept until"* ]]
  jq -e '.kept_until != null' report
  jq -se 'any(.event == "released" and .until != null)' events
  run -0 dlock history --events "$PWD/events"
  [[ "$output" == *"exit 4, kept until"* ]]
  dlock history --events "$PWD/events" --svg | grep -q '>kept '
  run -0 dlock inspect "$key"
  [[ "$output" == *"ran on "*"$(hostname) (sh, status 4)"*"kept until"* ]]
  run -0 dlock release --owner "$owner" "$key"
  is_free "$key"
  dlock run --at-least 20s "$key" -- true
  run -0 dlock force-release --yes "$key"
  [[ "$output" != *running* ]]
  is_free "$key"
  if can revokes; then # nothing runs under it
    dlock run --at-least 20s "$key" -- true
    run -0 dlock revoke -w 10s "$key"
    [[ "$output" == *"the lease of "*"status 0) is released"* ]]
    is_free "$key"
    if can sees_waiters; then
      dlock run --at-least 20s "$key" -- true
      run -0 dlock run -w 10s --replace "$key" -- true
    fi
  fi
  # It lasts from the grant on, however long that was waited for.
  start_watched waiter dlock run -q "$key" -- sh -c 'echo $$ >pid; sleep 3.5'
  wait_until filled pid
  dlock run -q --at-least 20s "$key" -- true
  run -0 --separate-stderr dlock inspect --json "$key"
  jq -e '(.holders[0].since | .[0:19] + "Z" | fromdate) + .holders[0].at_least_ms / 1000 - now | . > 17.5 and . < 22' <<<"$output"
  run -0 dlock force-release --yes "$key"
  # A lost lock and --max-hold leave none, nor does a command that cannot be started.
  run -124 dlock run --at-least 200ms --max-hold 200ms "$key" -- sleep 100
  is_free "$key"
}
@test "each store that can keeps the lock for --at-least, and dlock is over with the command" { on_each_store kept; }

# Two hosts have the same line in their crontab.
same_crontab() {
  can detaches || return 0
  local round first second
  : >ran
  for round in 1 2 3; do
    dlock run -n -E 0 --at-least 60s "$key" -- sh -c 'echo run >>ran' & first=$!
    dlock run -n -E 0 --at-least 60s "$key" -- sh -c 'echo run >>ran' & second=$!
    wait "$first"
    wait "$second"
    [ "$(wc -l <ran)" = "$round" ]
    dlock force-release -q --yes "$key"
  done
}
@test "each store that can: of two hosts with one crontab line one runs it, each time" { on_two_stores same_crontab; }

once_for_each_slot() {
  rm -f pid2 end first second
  key+=-$RANDOM # what is remembered outlives a run of this test
  run -5 dlock run --once s1 "$key" -- sh -c 'exit 5' # not a success
  start_watched waiter dlock run --once s1 "$key" -- sh -c 'echo $$ >pid && exec sleep 100'
  wait_until filled pid
  kill -KILL "$(<waiter.pid)"
  [ "$(how_ended waiter)" = "signal 9" ]
  wait_until is_free "$key"
  # Whoever waited meanwhile does not run it again.
  start_watched first dlock run --once s1 "$key" -- sh -c 'echo $$ >pid2; until [ -e end ]; do sleep .02; done'
  wait_until filled pid2
  dlock run -v -w 20s --events "$PWD/events" --once s1 "$key" -- touch ran >second 2>&1 &
  local second=$!
  wait_until grep -q '"waiting".*"'"$key"'"' events
  touch end
  [ "$(how_ended first)" = "exit 0" ]
  wait "$second"
  grep -q "s1 of $key ran on $(hostname) .* ago" second
  grep -q ", status 0" second
  run -0 dlock run --events "$PWD/events" --once s1 "$key" -- touch ran
  [ "$output" = "" ]
  run -0 dlock history --events "$PWD/events" "$key"
  [[ "$output" == *"not run again: slot s1 of $key ran on "*", status 0"* ]]
  run -9 dlock run -E 9 --once s1 "$key" -- touch ran
  [ ! -e ran ]
  is_free "$key"
  run -3 dlock run --once s2 "$key" -- sh -c 'exit 3'
  run -0 dlock run --once s2 "$key" -- touch ran2
  [ -e ran2 ]
  run -0 dlock inspect
  [[ "$output" != *"$key"* ]]
  run -0 dlock inspect "$key"
  [[ "$output" == *"ran on "*"(sh, status 0)"*" ago"*"slot s1"*"ran on "*"(touch, status 0)"*"slot s2"* ]]
  run -0 dlock inspect --json "$key"
  jq -e '[.slots[] | [.slot, .ran]] == [["s1", "status 0"], ["s2", "status 0"]]' <<<"$output"
  run -64 dlock run --once '' "$key" -- touch ran
  run -64 dlock run --once $'a\tb' "$key" -- touch ran
  run -64 dlock run --once "$(printf '%0300d' 7)" "$key" -- touch ran
  [ ! -e ran ]
  # What is remembered is not held: no series, no match of a pattern that does not name slots.
  run -0 dlock metrics --match "$key*"
  [[ "$output" != *s1* ]]
  run -0 dlock force-release --yes "$key*"
  run -0 --separate-stderr dlock release --json --slot s1 "$key"
  jq -e --arg key "$key" '.schema == "dlock.release/2" and .key == $key and .slot == "s1" and .released' <<<"$output"
  run -79 dlock release --slot s1 "$key"
  # Inside a run of the same slot it runs, and is remembered, once.
  run -0 dlock run --once s4 "$key" -- dlock run --once s4 "$key" -- true
  [ "$output" = "" ]
  # No lock that a user can name is a slot, whatever holds it.
  local name
  for name in "$key:once:s3" "$key:s3" "$key/s3"; do
    ! can detaches || run -0 dlock run --at-least 100s "$name" -- true
    run -64 dlock run "$key"$'\x1f's3 -- true
  done
  run -79 dlock release --slot s3 "$key"
  run -0 dlock run --once s3 "$key" -- touch ran
  [ "$output" = "" ]
  [ -e ran ]
  rm ran
  run -0 dlock run --once s3 "$key" -- touch ran
  [ ! -e ran ]
  for name in "$key:once:s3" "$key:s3" "$key/s3"; do dlock force-release -q --yes "$name"; done
  # A slot that has another one's name for a beginning, or an end, is another one.
  run -0 dlock run --once s3:holders "$key" -- touch ran
  [ -e ran ]
  rm ran
  run -0 dlock run --once s1 --remember 1s "$key" -- touch ran
  [ -e ran ]
  wait_until forgets "$key" s1
}
forgets() { ! dlock inspect "$1" | grep -q "slot $2 "; } # KEY SLOT
@test "each store runs a slot once, and says where and how it ran" { on_two_stores once_for_each_slot; }

freed() {
  start_watched waiter dlock run --ttl 2s "$key" -- sleep 60
  wait_until is_held "$key"
  run -64 dlock force-release "$key" </dev/null
  if can tokens; then
    run -75 dlock force-release --yes --token $(($(holder_field "$key" token) + 1)) "$key"
    is_held "$key"
  fi
  run -0 dlock force-release --yes "$key"
  [ "$(how_ended waiter)" = "exit 79" ]
  is_free "$key"
}
@test "each store: force-release asks, frees what it showed, and its holder ends with 79" { on_two_stores freed; }

asked_back() {
  if ! can revokes; then
    hold_lock "$key"
    run -78 dlock revoke "$key"
    [[ "$output" == *"cannot be asked"*"dlock force-release $key"* ]]
    let_go
    return
  fi
  run -0 dlock revoke "$key"
  [[ "$output" == "$key is already free"* || "$output" == "$key: no lock of that name "* ]]
  run -64 dlock revoke "$key*"
  [[ "$output" == *"takes no pattern"* ]]
  # A command that ignores TERM has the lock until it is gone: only then the next one begins.
  rm -f next
  start_watched waiter dlock run -t 3s -k 300ms --events "$PWD/events" "$key" -- sh -c 'trap "" TERM; echo $$ >pid; while :; do sleep 0.1; done'
  wait_until filled pid
  start_watched next dlock run -q "$key" -- sh -c '! kill -0 "$(cat pid)" 2>/dev/null && touch ran'
  run -0 --separate-stderr dlock revoke --json -m "release 2.5" --events "$PWD/events" "$key"
  jq -e --arg key "$key" '.schema == "dlock.revoke/1" and .key == $key and .outcome == "released" and
    (.holders | length == 1) and .holders[0].pid > 0 and .waited_ms > 0' <<<"$output"
  [ "$(how_ended waiter)" = "exit 79" ]
  [ "$(how_ended next)" = "exit 0" ]
  [ -e ran ]
  jq -se --arg by "revoked by $(id -un)@$(hostname): release 2.5" --arg key "$key" '[.[] | select(.key == $key)] |
    any(.event == "revoked" and .reason == "release 2.5" and .holder.pid > 0) and any(.event == "lost" and .why == $by)' events
  # What the command has started has it, too, when --on-lost lets it go on.
  rm -f rest.pid over
  script rest <<'SCRIPT'
#!/bin/sh
trap '' HUP
echo $$ >rest.pid
until [ -e over ]; do sleep 0.1; done
SCRIPT
  start_watched waiter dlock run -q -t 3s --on-lost signal:HUP "$key" -- sh -c 'rest & exec sleep 100'
  wait_until filled rest.pid
  run -75 dlock revoke -w 500ms "$key"
  run -75 dlock run -q -n "$key" -- true
  [ ! -e waiter ]
  touch over
  [ "$(how_ended waiter)" = "exit 79" ]
  is_free "$key"
  # What is held without a command of dlock's is given back at once.
  hold_lock -t 3s "$key"
  run -0 dlock revoke "$key"
  run -0 dlock inspect "$key"
  [[ "$output" == *free* ]]
  local status=0
  let_go || status=$?
  [ "$status" = 79 ]
  if can detaches; then
    dlock acquire --ttl 1m "$key"
    run -0 dlock revoke -w 10s "$key"
    [[ "$output" == *"the lease of "*" is released"* ]]
    is_free "$key"
  fi
}
@test "each store: revoke ends the holder, and the lock passes when it is gone; or 78" { on_two_stores asked_back; }

# Each of several keys and permits is asked by itself; a run inside a run ends with it.
asked_one_by_one() {
  can revokes || return 0
  local n
  rm -f one* pid*
  start_watched one1 dlock run -q -t 3s "$key" -- dlock run "$key" -- sh -c 'echo $$ >pid1; exec sleep 100'
  wait_until filled pid1
  run -0 dlock revoke "$key"
  [ "$(how_ended one1)" = "exit 79" ]
  is_free "$key"
  if can permits; then
    for n in 1 2 3; do
      start_watched "one$n" dlock run -q -t 3s --permits 3 "$key:p" -- sh -c 'echo "$DLOCK_SLOT" >pid'"$n"'; exec sleep 100'
      wait_until filled "pid$n"
    done
    run -0 dlock revoke --slot "$(<pid2)" "$key:p"
    [ "$(how_ended one2)" = "exit 79" ]
    has 2 holders "$key:p"
    run -0 dlock revoke "$key:p"
    for n in 1 3; do [ "$(how_ended "one$n")" = "exit 79" ]; done
    is_free "$key:p"
  fi
  if [[ "$DLOCK_BACKEND" == *redis+cluster:* ]]; then key="{$key}"; fi
  start_watched one1 dlock run -q -t 3s "$key:a" "$key:b" -- sh -c 'echo $$ >pid4; exec sleep 100'
  wait_until filled pid4
  run -0 dlock revoke "$key:b"
  [ "$(how_ended one1)" = "exit 79" ]
  is_free "$key:a"
}
@test "each store: revoke asks each holder of permits, one by its slot, and ends a run inside a run and one of several keys" { on_two_stores asked_one_by_one; }

asked_in_vain() {
  can revokes || return 0
  hold_lock -t 20s "$key"
  local processes
  mapfile -t processes < <(echo "$holder"; pgrep -P "$holder" '^dlock-' || true)
  kill -STOP "${processes[@]}"
  run -75 dlock revoke -w 300ms "$key"
  [[ "$output" == *"$key is still held by "*"dlock force-release $key"* ]]
  run -64 dlock revoke --force "$key"
  run -0 dlock revoke -w 300ms --force "$key"
  [[ "$output" == *"has lost the lock by force"* ]]
  is_free "$key"
  kill -CONT "${processes[@]}"
  local status=0
  let_go || status=$?
  [ "$status" = 79 ]
}
# bats test_tags=all
@test "each store: a holder that is stopped does not hear: 75 when the wait is over, and --force takes the lock" { on_each_store asked_in_vain; }

waits() { # REASON
  dlock inspect --json "$key" | jq -e --arg reason "$1" 'any(.waiters[]; .reason == $reason)'
}

superseded() {
  if ! can revokes || ! can sees_waiters; then
    run -78 dlock run --replace "$key" -- touch ran
    run -78 dlock run --newest "$key" -- touch ran
    [ ! -e ran ]
    return
  fi
  local n
  rm -f go asked one*
  start_watched waiter dlock run -q -t 6s --on-lost signal:TERM "$key" -- sh -c \
    'trap "echo asked >asked" TERM; echo $$ >pid; while [ ! -e go ]; do sleep 0.1; done'
  wait_until filled pid
  for n in 1 2 3; do
    start_watched "one$n" dlock run -t 6s --replace -m "push $n" "$key" -- sh -c "! kill -0 \$(cat pid) 2>/dev/null && echo $n >>ran"
    wait_until waits "push $n"
  done
  for n in 1 2; do [ "$(how_ended "one$n")" = "exit 75" ]; done
  wait_until filled asked
  touch go
  [ "$(how_ended waiter)" = "exit 79" ]
  [ "$(how_ended one3)" = "exit 0" ]
  [ "$(<ran)" = 3 ]
  is_free "$key"
  # One that replaces and runs already is replaced, too: -E is for what had not begun.
  start_watched waiter dlock run --replace -E 0 --report "$PWD/report" "$key" -- sh -c 'echo $$ >pid2; exec sleep 100'
  wait_until filled pid2
  run -0 dlock run --replace -m "push 5" "$key" -- true
  [ "$(how_ended waiter)" = "exit 79" ]
  jq -e '.outcome == "lost" and .exit_code == 79' report
  rm pid2
  for n in "-n --permits 2" "--shared"; do
    # shellcheck disable=SC2086
    run dlock run --replace $n "$key" -- touch ran2
    [[ "$status" = 64 || "$status" = 78 ]]
  done
  [ ! -e ran2 ]
  rm ran go asked one*
  hold_lock "$key"
  start_watched other dlock run -q "$key" -- true
  wait_until has 1 waiters "$key"
  run -75 dlock run -n --replace "$key" -- touch ran
  for n in 1 2; do
    start_watched "one$n" dlock run --newest --report "report$n" --events "$PWD/events" -m "push $n" "$key" -- sh -c "echo $n >>ran"
    wait_until waits "push $n"
  done
  [ "$(how_ended one1)" = "exit 75" ]
  jq -e '.outcome == "busy" and (.why | test("^superseded by .*: push 2$"))' report1
  run -0 dlock history --events "$PWD/events" "$key"
  [[ "$output" == *"busy: superseded by "*": push 2"* ]]
  let_go
  [ "$(how_ended one2)" = "exit 0" ]
  [ "$(how_ended other)" = "exit 0" ]
  [ "$(<ran)" = 2 ]
}
# The command's process stands beside its name; JSON has that of its dlock as well.
one_pair_of_pids() {
  export DLOCK_EVENTS=$PWD/events-$key
  rm -f pid
  start_watched run dlock run "$key" -- sh -c 'echo $$ >pid; exec sleep 100'
  wait_until filled pid
  local ours theirs both
  ours=$(cat pid) theirs=$(pid_of run)
  both="[$ours,$theirs]"
  run -0 dlock inspect "$key"
  [[ "$output" == *"(sh, pid $ours)"* ]]
  [ "$(dlock inspect --json "$key" | jq -c '.holders[0] | [.command_pid, .pid]')" = "$both" ]
  kill -STOP "$ours"
  run -0 dlock inspect "$key"
  [[ "$output" == *"its command is stopped"* ]]
  dlock inspect --json "$key" | jq -e '.holders[0] | .stopped and (.until == null) == (.renewed == null)'
  kill -CONT "$ours"
  run -75 dlock run -n --report report "$key" -- true
  [[ "$output" == *"(sh, pid $ours)"* ]]
  [ "$(jq -c '.holder | [.command_pid, .pid]' report)" = "$both" ]
  run -0 dlock force-release --yes --json "$key"
  [ "$(jq -c '.freed[0] | [.command_pid, .pid]' <<<"$output")" = "$both" ]
  how_ended run
  [ "$(jq -c 'select(.event == "busy" or .event == "force-released") | .holder | [.command_pid, .pid]' "$DLOCK_EVENTS" | sort -u)" = "$both" ]
  run -0 dlock history "$key"
  [[ "$output" == *"(sh, pid $ours)"* ]]
  [[ "$output" != *"pid $theirs)"* ]]
}
@test "two stores: a holder is the process of its command, the same in every view" { on_two_stores one_pair_of_pids; }

@test "each store whose queue shows it: of those that replace the last one runs, and of the newest; or 78" { on_two_stores superseded; }

looked_at() {
  run -0 dlock wait "$key"
  hold_lock "$key"
  run -75 dlock wait -n "$key"
  let_go
  if can tokens; then
    run -0 dlock fence "$key" 17 -- true
    run -79 dlock fence "$key" 16 -- touch ran
    [ ! -e ran ]
  fi
  run -0 dlock ping
  run -0 dlock doctor --json
  jq -e '.schema == "dlock.doctor/2" and .healthy == true' <<<"$output"
  run -0 dlock gc --dry-run
}
@test "each store answers wait, fence, ping, doctor and gc" { on_two_stores looked_at; }

delayed() {
  can lock_delay || return 0
  start_watched waiter dlock run -q --lock-delay 60s "$key" -- sleep 100
  wait_until has 1 holders "$key"
  run -0 dlock force-release --yes "$key"
  [[ "$output" == "$key is freed; its lock-delay keeps others out for "*"; it was held by "* ]]
  run -0 dlock inspect "$key"
  [[ "$output" == *"no holder: force-released, lock-delay runs"* ]]
  run -0 dlock revoke "$key"
  [ "$output" = "$key: no holder: force-released, lock-delay runs" ]
  run -75 dlock run -n "$key" -- touch ran
  [ ! -e ran ]
  run -0 dlock force-release --yes "$key"
  [ "$output" = "$key is free now; its lock-delay has ended" ]
  run -0 dlock run -n "$key" -- true
  how_ended waiter
}
@test "each store: a lock-delay that a force-release has begun is said, shown, and ended by another one" { on_two_stores delayed; }

several() {
  if [[ "$DLOCK_BACKEND" == *redis+cluster:* ]]; then key="{$key}"; fi
  hold_lock "$key:b"
  run -75 dlock run -q -n "$key:a" "$key:b" -- touch ran
  is_free "$key:a"
  let_go
  run -0 dlock run -n "$key:b" "$key:a" -- dlock run -n "$key:a" -- touch ran
  [ -e ran ]
  is_free "$key:a"
}
@test "each store: several keys, all or none, in any order; an inner run enters again" { on_two_stores several; }

refused_there() {
  [[ "$DLOCK_BACKEND" != local:* ]] || return 0
  # Each port of the URL becomes one where nobody listens.
  local there query=''
  [[ "$DLOCK_BACKEND" != *\?* ]] || query="?${DLOCK_BACKEND#*\?}"
  there=$(awk '{ while (match($0, /:[0-9]+/)) { printf "%s:%d", substr($0, 1, RSTART - 1), ++n; $0 = substr($0, RSTART + RLENGTH) }
    print }' <<<"${DLOCK_BACKEND%%\?*}")
  run -69 dlock run -n -b "$there$query" "$key" -- touch ran
  [[ "$output" == *":1"* ]]
  [[ "$output" == *refused* || "$output" == *"0 of "* || "$output" == *"Can't connect"* ]]
  run -69 dlock inspect -b "$there$query"
  [ ! -e ran ]
}
@test "each store: nobody listens there: 69 with the address and the reason, and nothing is run" { on_each_store refused_there; }

lease_without_a_place() { # ulimit -f 0: what has to be written down on this machine cannot be
  can detaches || return 0
  local options
  for options in "--ttl 1m" "--ttl 1m --shell"; do
    # shellcheck disable=SC2016
    run bash -c 'ulimit -f 0; exec dlock acquire -q $2 "$1" 2>/dev/null' - "$key" "$options"
    echo "$options: $status $output"
    if [ "$status" = 0 ]; then
      run -0 dlock release --owner "$(holder_field "$key" owner)" "$key"
    else
      [ -z "$output" ] || [[ "$options $output" == *"--shell (exit $status)" ]]
    fi
    is_free "$key"
  done
}
@test "each store that can has a lease, or says that there is no place for it before it prints a handle" { on_each_store lease_without_a_place; }
