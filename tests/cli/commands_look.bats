# SPDX-License-Identifier: Apache-2.0
# Commands that look at locks and put them right: what each prints, and its exit status.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }

@test "inspect --json: every field of dlock.inspect/2" {
  hold_lock -m 'a "reason"' k
  start dlock run -q -m patience k -- true
  wait_until has 1 waiters k
  run -0 dlock inspect --json k
  [ "${#lines[@]}" = 1 ]
  jq -e --arg owner "$holder_owner" --argjson token "$holder_token" --argjson pid "$holder" --arg user "$(id -un)" --arg host "$(uname -n)" '
    .schema == "dlock.inspect/2" and .key == "k" and (.store | startswith("local:")) and .mode == "exclusive" and
    (.holders | length == 1) and (.waiters | length == 1) and
    (.holders[0] | .owner == $owner and .token == $token and .pid == $pid and .user == $user and .host == $host and
      .reason == "a \"reason\"" and .count == 1 and .until == null and
      (.since | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\\.[0-9]+)?Z$"))) and
    (.waiters[0] | .reason == "patience" and .pid > 0 and .token == null and (.since | endswith("Z")))' <<<"$output"
}

@test "inspect: text names holder, token, reason and waiters; a free key says free" {
  hold_lock -m 'why not' k
  start dlock run -q k -- true
  wait_until has 1 waiters k
  run -0 dlock inspect k
  [[ "$output" == "k  held, exclusive"* ]]
  [[ "$output" == *"pid $holder"*"token $holder_token"*"why not"* ]]
  [[ "$output" == *"waits 1"* ]]
  run -0 dlock inspect never-used
  [[ "$output" == *free* ]]
  run -0 dlock inspect --json never-used
  jq -e '.holders == [] and .waiters == []' <<<"$output"
}

@test "inspect: without KEY all live locks, in JSON one a line; aliases" {
  dlock run dead -- true
  hold_lock a
  start dlock run 'b/c d' -- sleep 300
  wait_until is_held 'b/c d'
  run -0 dlock inspect --json
  [ "$(jq -r .key <<<"$output" | sort | tr '\n' ,)" = "a,b/c d," ]
  run -0 dlock inspect a
  [[ "$output" == a* ]]
  run -0 dlock inspect
  [[ "$output" == *"b/c d"* && "$output" != *dead* ]]
}

@test "inspect: a pattern shows the live locks that it matches; a mistyped KEY names the nearest one" {
  hold_lock deploy/prod
  run -0 dlock inspect 'deploy/*'
  [[ "$output" == "deploy/prod  held"* ]]
  run -0 dlock inspect 'x*'
  [[ "$output" == "no lock held or waited for in local:$locks matches x*" ]]
  run -0 dlock inspect deploy/prud
  [[ "$output" == *"no lock of that name was ever taken; did you mean 'deploy/prod'?" ]]
  run -79 dlock check deploy/prud 1
  [[ "$output" == *"did you mean 'deploy/prod'?"* ]]
  run -0 dlock force-release --yes deploy/prud
  [[ "$output" == *"did you mean 'deploy/prod'?"* ]]
  dlock run once -- true
  run -0 dlock inspect once
  [[ "$output" != *"ever taken"* ]]
  run -0 dlock force-release --yes 'deploy/*'
  [[ "$output" == "deploy/prod is free now"* ]]
}

@test "inspect: control characters of a reason cannot drive the terminal" {
  hold_lock -m $'evil\e[31m\nline' k
  run -0 dlock inspect k
  [[ "$output" != *$'\e[31m'* ]]
  run -75 dlock run -n k -- true
  [[ "$output" != *$'\e[31m'* ]]
  run -0 dlock inspect --json k
  [ "${#lines[@]}" = 1 ]
}

@test "inspect --older-than: 1 if a lock is held for longer, 0 if none, and only those" {
  hold_lock old
  run -0 dlock inspect --older-than 1h
  [[ $output == "no lock in local:"*" is held for longer than 1 h" ]]
  wait_until sh -c '[ "$(dlock inspect --older-than 10ms --json | wc -l)" = 1 ]'
  run -1 dlock inspect --older-than 10ms old
  [[ $output == "old  held"* ]]
  run -0 dlock inspect --older-than 10ms --json other
  [ "$output" = "" ]
  let_go
  run -0 dlock inspect --older-than 0
  touch file
  start flock file sleep 60
  wait_until eval '! flock -n file true'
  run -77 --separate-stderr dlock inspect --older-than 10ms ./file
  [[ -z "$output" && "$stderr" == *"it is not known since when this is held: $PWD/file"* ]]
}

@test "a wait that was announced ends with a line" {
  hold_lock k
  start_watched waits dlock wait --progress always k 2>said
  wait_until grep -q 'waiting for k' said
  let_go
  [ "$(how_ended waits)" = "exit 0" ]
  grep -q 'k is free after' said
}

@test "inspect --watch on a terminal follows, and ^C leaves" {
  hold_lock k
  run terminal 'expect:held, exclusive' 'run:dlock force-release --yes k' 'expect:free' 'send:\x03' -- dlock inspect --watch --interval 100ms k
  [ "$status" = 0 ] || [ "$status" = 130 ]
}

# bats test_tags=all
@test "inspect --watch without a terminal is a stream that ends with its reader" {
  hold_lock k
  run -0 timeout 10 bash -c 'dlock inspect --watch --json --interval 100ms k | head -n 1'
  jq -e '.schema == "dlock.inspect/2"' <<<"$output"
  # Of a socket nothing but the hang-up is seen while there is nothing to write.
  run -141 "${python[@]}" "$support/hang_up.py" dlock inspect --watch --json k
  jq -e '.schema == "dlock.inspect/2"' <<<"$output"
}

@test "force-release: without a terminal it needs --yes" {
  hold_lock k
  run -64 dlock force-release k </dev/null
  [[ "$output" == *--yes* ]]
  [ "$(holder_field k owner)" = "$holder_owner" ]
  run -0 dlock force-release --yes k
  [[ "$output" == *"the old holder has ended: pid $holder on $(uname -n)" ]]
  run -0 dlock run -n k -- true
  run -0 dlock force-release --yes k
  [[ "$output" == *free* ]]
}

@test "force-release says that the old holder still runs when it sees it" {
  script_victims
  start_watched held dlock run k -- stubborn first
  wait_until filled first.pid
  holder_pid=$(holder_field k command_pid)
  [ "$holder_pid" = "$(cat first.pid)" ]
  run -0 dlock force-release --yes k
  [[ "$output" == *"(stubborn, pid $holder_pid)"* ]]
  [[ "$output" == *"the old holder still runs: pid $holder_pid on $(uname -n)" ]]
}

@test "force-release says that no process held a lease" {
  dlock acquire --ttl 1m k
  run -0 dlock force-release --yes k
  [[ "$output" == *"the old holder is a lease without a process, and what it was taken for may still be running: on $(uname -n)" ]]
}

@test "force-release: on a terminal it shows the holder and asks for the key" {
  hold_lock k
  run -64 terminal 'expect:pid' 'expect:type the key' 'send:other\n' -- dlock force-release k
  [ "$(holder_field k owner)" = "$holder_owner" ]
  run -0 terminal 'expect:its dlock gives it up as soon as it hears of this' 'expect:dlock revoke k' 'expect:type the key' 'send:k\n' \
    -- dlock force-release k
  wait_until is_free k
  start dlock run run -- sleep 300
  wait_until has 1 holders run
  run -0 terminal 'expect:its command gets TERM' 'expect:type the key' 'send:run\n' -- dlock force-release run
  dlock acquire --ttl 1m lease >owner
  run -0 terminal 'expect:it is a lease' 'expect:type the key' 'send:lease\n' -- dlock force-release lease
}

@test "force-release --token: 75 if the holder is another one" {
  hold_lock k
  run -75 dlock force-release --yes --token $((holder_token - 1)) k
  [ "$(holder_field k owner)" = "$holder_owner" ]
  run -0 dlock force-release --yes --token "$holder_token" --json k
  jq -e --argjson token "$holder_token" '.schema == "dlock.force-release/2" and .freed[0].token == $token' <<<"$output"
}

# bats test_tags=all
@test "force-release: 75 if the holder changes between being shown and the answer" {
  hold_lock k
  script change <<'SCRIPT'
#!/bin/bash
exec >/dev/null 2>&1 </dev/null
dlock force-release --yes k || exit
setsid dlock run k -- sh -c 'echo $$ >new.pid; exec sleep 300' &
until [ -s new.pid ]; do sleep 0.1; done
SCRIPT
  run -75 terminal 'expect:type the key' run:change 'send:k\n' -- dlock force-release k
  run -75 dlock run -q -n k -- true
}

@test "check: 0 for the holder's token, 79 for any other" {
  run -79 dlock check k 1
  hold_lock k
  run -0 dlock check k "$holder_token"
  [ "$output" = "" ]
  run -79 dlock check k $((holder_token - 1))
  run -79 dlock check --json k $((holder_token + 1))
  let_go
  run -79 dlock check k "$holder_token"
  run -64 dlock check k
  run -64 dlock check k x1
}

@test "fence: refuses a token lower than the highest seen" {
  run -0 dlock fence db 5
  run -0 dlock fence db 5
  run -0 dlock fence db 7 -- sh -c 'echo ran'
  [ "$output" = ran ]
  run -79 dlock fence db 6 -- touch ran
  [ ! -e ran ]
  run -3 dlock fence db 8 -- sh -c 'exit 3'
  run -79 dlock fence db 7
  run -0 dlock fence other 1
  run -127 dlock fence db 9 -- no-such-command
  [[ "$output" == "dlock: cannot run 'no-such-command': command not found"*"the token was not checked" ]]
  run -126 dlock fence db 9 -- "$PWD"
  run -0 dlock fence db 8
  run -79 --separate-stderr dlock fence --json db 1
  jq -e '.schema == "dlock.fence/2" and .resource == "db" and .passed == false' <<<"$output"
}

@test "fence: the token of a run passes its own resource" {
  run -0 dlock run k -- sh -c 'dlock fence db "$DLOCK_TOKEN" -- echo in'
  [ "$output" = in ]
}

@test "what may write no file says so: fence, gc" {
  run -0 dlock fence disk 5
  run -71 bash -c 'ulimit -f 0 && dlock fence disk 6 2>&1 | cat; exit "${PIPESTATUS[0]}"'
  [[ "$output" == *"File too large"* ]]
  run -0 dlock fence disk 5
  dlock run k -- true
  run bash -c 'ulimit -f 0 && dlock gc 2>&1 | cat; exit "${PIPESTATUS[0]}"'
  [ "$status" != 153 ]
}

@test "gc: says what it would sweep, sweeps it, and leaves live locks alone" {
  dlock run old -- true
  hold_lock live
  run -0 dlock gc --dry-run
  run -0 dlock gc
  run -0 dlock gc --json
  [ "$(holder_field live owner)" = "$holder_owner" ]
  run -75 dlock run -q -n live -- true
  run -0 dlock run -n old -- true
}

@test "gc: a token after the sweep is larger than one before" {
  local before
  before=$(dlock run k -- printenv DLOCK_TOKEN)
  dlock gc
  [ "$(dlock run k -- printenv DLOCK_TOKEN)" -gt "$before" ]
}

@test "doctor: every line has a verdict; a healthy directory is 0, a bad one is not" {
  run -0 dlock doctor
  [[ "$output" == *"  ok "* ]]
  run -0 dlock doctor --json
  jq -e '.schema == "dlock.doctor/2" and .healthy == true and (.findings | length > 0) and all(.findings[]; .verdict | test("^(ok|warn|fail)$"))' <<<"$output"
  chmod 777 "$locks"
  run dlock doctor
  [ "$status" = 78 ] || [ "$status" = 77 ]
  [[ "$output" == *"  fail "* ]]
}

@test "ping: 0 and a time" {
  run -0 dlock ping
  [[ "$output" == *ms* ]]
  run -0 dlock ping --json
  jq -e '.schema == "dlock.ping/2" and .round_trip_ms >= 0' <<<"$output"
}
