# SPDX-License-Identifier: Apache-2.0
# Several locks, the same lock again, dead outputs, busy, reports, --at-least: promises 12 to 15.
load ../support/cli

setup() {
  set_world
  script until-go <<'SCRIPT'
#!/bin/bash
echo $$ >"${1:-cmd}.pid"
until [ -e "${2:-go}" ]; do sleep 0.1; done
SCRIPT
}
teardown() { end_world; }

@test "12.1 a busy lock is 75, or what -E and DLOCK_CONFLICT_EXIT_CODE say, and names the holder" {
  hold_lock -m 'monthly report' k
  run -75 --separate-stderr dlock run -n k -- touch ran
  [ "$output" = "" ]
  [[ "$stderr" == "dlock: k is held by "*"$(id -un)@"*" (pid $holder)"*"monthly report"* ]]
  [[ "$stderr" == *"dlock inspect k"* ]]
  run -75 dlock run -w 0 k -- touch ran
  run -75 dlock run -w 50ms k -- touch ran
  [[ "$output" == *"gave up after"* ]]
  run -9 dlock run -n -E 9 k -- touch ran
  run -8 env DLOCK_CONFLICT_EXIT_CODE=8 dlock run -n k -- touch ran
  [ ! -e ran ]
}

@test "12.2 -E 0 is the cron form: status 0 and not a word" {
  hold_lock k
  run -0 dlock run -n -E 0 k -- touch ran
  [ "$output" = "" ]
  [ ! -e ran ]
}

@test "12.3 -w gives up when its time is over, not before" {
  hold_lock k
  local before after
  before=$(date +%s%N)
  run -75 dlock run -q -w 0.5 k -- true
  after=$(date +%s%N)
  [ "$output" = "" ]
  [ $(((after - before) / 1000000)) -ge 500 ]
  [ $(((after - before) / 1000000)) -lt $((3000 * slowness)) ]
}

@test "12.4 --tries gives up after so many attempts" {
  hold_lock k
  local before after
  before=$(date +%s%N)
  run -75 dlock run -q --tries 3 --retry-interval 100ms k -- true
  after=$(date +%s%N)
  [ $(((after - before) / 1000000)) -ge 200 ]
  [ $(((after - before) / 1000000)) -lt $((3000 * slowness)) ]
  [ "$(count waiters k)" = 0 ]
}

@test "12.5 a waiter runs as soon as the lock is given back" {
  hold_lock k
  start_watched end dlock run -q k -- touch ran
  wait_until has 1 waiters k
  [ ! -e ran ]
  let_go
  [ "$(how_ended end)" = "exit 0" ]
  [ -e ran ]
}

@test "12.6 a backend that is not installed is 78 with the package to install, and nothing runs" {
  local url alone=$BATS_TEST_TMPDIR/alone/bin
  mkdir -p "$alone"
  cp "$DLOCK" "$alone/dlock"
  for url in redis://localhost zk://localhost mysql://root@localhost/test; do
    run -78 uninstalled "$alone/dlock" run -b "$url" --report report k -- touch ran
    [[ "$output" == *"apt install dlock-"* ]]
    jq -e '.outcome == "unavailable" and .exit_code == 78 and .key == "k"' report
  done
  run -78 uninstalled "$alone/dlock" run -b redis://localhost --if-unavailable run k -- touch ran
  run -78 uninstalled "$alone/dlock" run -b redis://localhost --fallback "$DLOCK_BACKEND" k -- touch ran
  [ ! -e ran ]
}

@test "12.7 shared holders share, and exclude the exclusive ones" {
  start dlock run -s k -- until-go one
  wait_until filled one.pid
  run -0 dlock run -n -s k -- true
  run -75 dlock run -q -n k -- true
  touch go
  wait_until is_free k
  hold_lock k
  run -75 dlock run -q -n -s k -- true
}

@test "12.8 --permits N lets N in, and all callers must agree on N" {
  start dlock run --permits 2 k -- until-go one
  start dlock run --permits 2 k -- until-go two
  wait_until has 2 holders k
  run -75 dlock run -q -n --permits 2 k -- true
  run -78 dlock run -n --permits 3 k -- true
  [[ "$output" == *2*3* || "$output" == *3*2* ]]
  touch go
  wait_until is_free k
  run -0 dlock run -n --permits 3 k -- true
}

@test "12.9 --fair: in order of arrival" {
  hold_lock k
  local i
  for i in 1 2 3 4 5; do
    start dlock run -q --fair k -- sh -c "echo $i >>order"
    wait_until has "$i" waiters k
  done
  let_go
  wait_until lines_in order 5
  [ "$(tr -d '\n' <order)" = 12345 ]
}

# bats test_tags=all
@test "13.1 closed and full outputs change neither the exit status nor the release" {
  run -6 bash -c 'dlock run -v k -- sh -c "exit 6" 2>/dev/full'
  run -6 bash -c 'dlock run -v k -- sh -c "exit 6" >&- 2>&-'
  run -6 bash -c 'dlock run -v k -- sh -c "exit 6" <&- >/dev/full 2>/dev/full'
  run -0 dlock run -n k -- true
  hold_lock k
  run -75 bash -c 'dlock run -n k -- true 2>/dev/full'
  run -75 bash -c 'dlock run -n k -- true >&- 2>&-'
  run -75 bash -c 'dlock run -w 1.2 k -- true 2>/dev/full'
}

@test "13.2 a pipe that nobody reads any more does not end dlock" {
  mkfifo pipe
  exec {reader}<>pipe
  start bash -c 'exec dlock run -v k -- until-go 2>pipe'
  wait_until filled cmd.pid
  exec {reader}<&-
  run -75 dlock run -q -n k -- true
  touch go
  wait_until is_free k
  watched end bash -c 'dlock run -v k -- sh -c "sleep 0.1; exit 4" 2> >(exec true)'
  [ "$(cat end)" = "exit 4" ]
  # Nor does what is said before a lock is asked for (the password in the URL), or by other commands.
  exec {reader}<>pipe
  exec {writer}>pipe {reader}>&-
  run -69 bash -c "dlock run -n -b redis://u:secret@127.0.0.1:1 k -- true 2>&$writer"
  run -79 bash -c "dlock check k 5 2>&$writer"
  run -64 bash -c "dlock nonsense 2>&$writer"
  run -69 bash -c 'ulimit -f 0 && exec dlock run -n -b redis://u:secret@127.0.0.1:1 k -- true 2>file'
}

@test "13.3 a loss that cannot be told is handled all the same" {
  start_watched end bash -c 'exec dlock run k -- until-go 2>/dev/full'
  wait_until filled cmd.pid
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  ended "$(cat cmd.pid)"
}

@test "13.4 a report that cannot be written is a warning, and changes nothing else" {
  run -6 --separate-stderr dlock run --report /dev/full k -- sh -c 'echo out; exit 6'
  [ "$output" = out ]
  [ "$stderr" = "dlock: the report could not be written to /dev/full: No space left on device; the exit status is not changed by this" ]
  run -0 --separate-stderr dlock run -q --report /dev/full k -- true
  [ "$stderr" = "" ]
  run -127 dlock run --report /dev/full k -- no-such-command
  [[ "$output" == *"the report could not be written to /dev/full"* ]]
  # A pipe whose reader is gone: SIGPIPE does not end it either.
  mkfifo pipe
  exec {reader}<>pipe
  exec {writer}>pipe {reader}>&-
  run -6 dlock run --report fd:$writer k -- sh -c 'exit 6'
  [[ "$output" == *"the report could not be written to fd:$writer: Broken pipe"* ]]
  run -127 dlock run --report fd:$writer k -- no-such-command
  [[ "$output" == *"the report could not be written to fd:$writer: Broken pipe"* ]]
  exec {writer}>&-
  is_free k
}

# `pipe` is full, and somebody has it open who does not read: a pager that waits for a key.
pipe_in_arrears() {
  mkfifo pipe
  exec {reader}<>pipe
  dd if=/dev/zero of=pipe oflag=nonblock bs=4K status=none 2>/dev/null || true
}

# bats test_tags=all
@test "13.5 a stderr that is full, of a reader that does not read, holds nothing up" {
  pipe_in_arrears
  start_watched lost bash -c 'exec dlock run --kill-after 1s lost -- until-go 2>pipe'
  start_watched over bash -c 'exec dlock run --max-hold 100ms over -- sleep 300 2>pipe'
  start_watched ends bash -c 'exec dlock run -v ends -- sh -c "echo >ready; exec sleep 300" 2>pipe'
  hold_lock busy
  start_watched busy bash -c 'exec dlock run --progress always -w 100ms busy -- true 2>pipe'
  wait_until filled cmd.pid
  dlock force-release --yes lost
  wait_until filled ready
  kill -TERM "$(cat ends.pid)"
  [ "$(how_ended lost), $(how_ended over), $(how_ended ends), $(how_ended busy)" = "exit 79, exit 124, signal 15, exit 75" ]
  ended "$(cat cmd.pid)"
}

# bats test_tags=all
@test "13.6 nor does a report, or a stdout that is to have the handle of a lock" {
  pipe_in_arrears
  start_watched hold bash -c 'exec dlock hold held >pipe'
  start_watched acquire bash -c 'exec dlock acquire --ttl 1m acquired >pipe'
  start_watched run dlock run --report pipe k -- sh -c 'exit 6'
  [ "$(how_ended hold), $(how_ended acquire), $(how_ended run)" = "exit 71, exit 71, exit 6" ]
  is_free held
  is_free acquired
}

@test "14.1 all KEYs are held while CMD runs, and all are free afterwards" {
  start dlock run a b c -- until-go
  wait_until filled cmd.pid
  local key
  for key in a b c; do run -75 dlock run -q -n "$key" -- true; done
  touch go
  for key in a b c; do wait_until is_free "$key"; done
}

@test "14.2 none is kept when one is busy" {
  hold_lock b
  run -75 --separate-stderr dlock run -n a b c -- touch ran
  [[ "$stderr" == *"b is held by"* ]]
  [ ! -e ran ]
  run -0 dlock run -n a c -- true
}

@test "14.3 the same KEY twice counts once" {
  run -0 dlock run -n k k k -- sh -c 'dlock inspect --json k | jq ".holders[0].count"; echo "$DLOCK_KEY"'
  [ "$output" = $'1\nk' ]
}

@test "14.4 the order on the command line does not matter: no deadlock, and the same environment" {
  local i
  for i in 1 2 3 4 5 6 7 8; do
    start dlock run -q a b c -- sh -c 'echo >>turns'
    start dlock run -q c b a -- sh -c 'echo >>turns'
    start dlock run -q b c a -- sh -c 'echo >>turns'
  done
  wait_until lines_in turns 24
  [ "$(dlock run a c b -- printenv DLOCK_KEY)" = "$(dlock run c b a -- printenv DLOCK_KEY)" ]
}

@test "15.1 the same lock inside itself is entered again, counted, and freed by the last" {
  run -0 dlock run -n k -- dlock run -n k -- dlock run -n k -- sh -c 'dlock inspect --json k | jq ".holders | length, .[0].count"'
  [ "$output" = $'1\n3' ]
  run -0 dlock run -n k -- sh -c 'dlock run -n k -- true; dlock inspect --json k | jq ".holders[0].count"'
  [ "$output" = 1 ]
  run -0 dlock run -n k -- true
}

@test "15.2 the inner run has the token of the outer one" {
  run -0 dlock run k -- sh -c 'echo $DLOCK_TOKEN; dlock run k -- printenv DLOCK_TOKEN'
  [ "${lines[0]}" = "${lines[1]}" ]
}

@test "15.3 an inner run in the background that outlives the outer one keeps the lock" {
  script outer <<'SCRIPT'
#!/bin/bash
dlock run k -- until-go >/dev/null 2>&1 </dev/null 3>&- &
until [ -s cmd.pid ]; do sleep 0.1; done
exit 3
SCRIPT
  run -3 dlock run k -- outer
  run -0 kill -0 "$(cat cmd.pid)"
  run -75 dlock run -q -n k -- true
  touch go
  wait_until is_free k
  run -0 dlock run -n k -- true
}

@test "15.4 without DLOCK_HELD the inner run waits like anybody else" {
  run -75 dlock run k -- env -u DLOCK_HELD dlock run -q -n k -- true
}

@test "15.5 a stale DLOCK_HELD is ignored" {
  local stale
  stale=$(dlock run k -- printenv DLOCK_HELD)
  hold_lock k
  run -75 env DLOCK_HELD="$stale" dlock run -q -n k -- true
  let_go
  run -0 env DLOCK_HELD="$stale" dlock run -n k -- true
  run -0 env DLOCK_HELD='|garbage %%% |||' dlock run -n k -- true
}

@test "15.6 entering again is for the lock that is held, not for another store or key" {
  mkdir -m 700 "$BATS_TEST_TMPDIR/other"
  hold_lock -b "local:$BATS_TEST_TMPDIR/other" k
  run -75 dlock run k -- dlock run -q -n -b "local:$BATS_TEST_TMPDIR/other" k -- true
}

@test "15.7 several KEYs of which some are held already" {
  run -0 dlock run -n a -- dlock run -n a b -- sh -c 'for k in a b; do dlock inspect --json $k | jq -c "[(.holders | length), .holders[0].count]"; done'
  [ "$output" = $'[1,2]\n[1,1]' ]
  run -0 dlock run -n a b -- true
}

@test "at-least: the lock is kept until start + D though dlock ends with CMD" {
  local least=$((800 * slowness)) first
  first=$(date +%s%N)
  run -4 dlock run --at-least "${least}ms" k -- sh -c 'exit 4'
  run -75 dlock run -n k -- true
  run -0 dlock run -q k -- date +%s%N
  [ $(((output - first) / 1000000)) -ge "$least" ]
  run -0 dlock run --at-least 1ms k -- sleep 0.05
  run -0 dlock run -n k -- true
}

@test "at-least: everything of dlock's is killed, and the lock is kept" {
  dlock run --at-least 3s k -- sleep 100 3>&- &
  local holder=$!
  wait_until is_held k
  kill -KILL "$holder"
  run -75 dlock run -n k -- true
  run -0 dlock run -w 5s k -- true
  dlock run --at-least 20s -s shared -- true
  run -0 dlock run -n -s shared -- true
  run -75 dlock run -q -n shared -- true
}

# The report of the run with these arguments.
report() {
  rm -f report
  dlock run -q --report report "$@" 2>/dev/null || true
  [ "$(wc -l <report)" = 1 ]
  cat report
}

@test "report: ran, with a status" {
  report k -- sh -c 'sleep 0.05; exit 7' | jq -e '.schema == "dlock.report/1" and .outcome == "ran" and .exit_code == 7 and .signal == null
    and .key == "k" and (.waited_ms | type) == "number" and .held_ms >= 50 and .held_ms < 5000 and .token > 0 and (.owner | length) > 8'
}

@test "report: ran, with a signal" {
  report k -- sh -c 'kill -TERM $$' | jq -e '.outcome == "ran" and .signal == 15 and .exit_code == null'
}

@test "report: busy, with what was waited" {
  hold_lock k
  report -w 200ms k -- true | jq -e '.outcome == "busy" and .exit_code == 75 and .waited_ms >= 200 and .held_ms == null and .token == null'
  report -m mine -n k -- sleep 0 | jq -e --arg host "$(uname -n)" --arg pid "$holder" '.started[0:2] == "20" and .host == $host and .reason == "mine"
    and .command == ["sleep", "0"] and .holder.pid == ($pid | tonumber) and .holder.host == $host'
  report other -c 'exit 0' | jq -e '.command == ["/bin/sh", "-c", "exit 0"]'
  report -n -E 3 k -- true | jq -e '.outcome == "busy" and .exit_code == 3'
}

@test "report: exec_failed" {
  report k -- no-such-command | jq -e '.outcome == "exec_failed" and .exit_code == 127'
  printf '#!/no/such/interpreter\n' | script orphan
  report k -- orphan | jq -e '.outcome == "exec_failed" and .exit_code == 127'
}

@test "report: lost" {
  start_watched end dlock run -q --report report k -- until-go
  wait_until filled cmd.pid
  dlock force-release --yes k
  how_ended end
  jq -e '.outcome == "lost" and .exit_code == 79 and .token > 0' report
}

@test "report: interrupted" {
  hold_lock k
  start_watched end dlock run -q --report report k -- true
  wait_until has 1 waiters k
  kill -INT "$(cat end.pid)"
  how_ended end
  jq -e '.outcome == "interrupted" and .signal == 2 and .held_ms == null' report
}

@test "report: unavailable, when the backend refused" {
  : >file
  report -b "local:$PWD/file" k -- true | jq -e '.outcome == "unavailable" and .exit_code != 75 and .exit_code > 0'
  report --events /no/such/dir/events k -- touch ran | jq -e '.outcome == "unavailable" and .exit_code == 71 and .key == "k"
    and .command == ["touch", "ran"] and .token == null and .held_ms == null'
  [ ! -e ran ]
}

@test "report: to a descriptor, and one line for several KEYs" {
  run -0 bash -c 'dlock run --report fd:5 b a -- true 5>report'
  jq -e '(.locks | map(.key)) == ["a", "b"]' report
  run -64 bash -c 'dlock run --report fd:9 k -- true 9>&-'
  run -64 dlock run --report fd:0 k -- touch ran </dev/null
  [[ "$output" == *"--report fd:0: that descriptor is not open for writing"* ]]
  [ ! -e ran ]
  run dlock run --report /no/such/dir/file k -- touch ran
  [ "$status" != 0 ]
  [ ! -e ran ]
}
