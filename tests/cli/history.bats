# SPDX-License-Identifier: Apache-2.0
# What is recorded about locks (--events), and what is told of it afterwards.
load ../support/cli
load ../support/mounts

setup() {
  set_world
  export TZ=UTC
  events=$PWD/events
}
teardown() { end_world; }

# The events of a key in short: "granted released(0)".
story() { # KEY [FILE]
  jq -r "select(.key == \"$1\") | .event + (if .exit_code != null then \"(\\(.exit_code))\" else \"\" end)" "${2:-$events}" | xargs
}
recorded() { [ "$(story "$1" | grep -cw -- "$2")" -gt 0 ]; } # KEY EVENT

@test "each step of a run is an event: waiting, granted, busy, lost, signalled, ended, released, force-released" {
  export DLOCK_EVENTS=$events
  script_victims
  start_watched first dlock run -m 'release 2.4' deploy -- note first
  wait_until is_held deploy
  run -75 dlock run -n deploy -- true
  start_watched second dlock run -q deploy -- sh -c 'exit 3'
  wait_until recorded deploy waiting
  dlock force-release --yes --reason 'hangs since 2.4' deploy
  [ "$(how_ended first)" = "exit 79" ]
  [ "$(how_ended second)" = "exit 3" ]
  for event in 'granted' 'busy' 'waiting' 'force-released' 'lost' 'signalled' 'ended(0)' 'released(3)'; do
    [[ " $(story deploy) " == *" $event "* ]] || { echo "no $event in: $(story deploy)"; return 1; }
  done
  one() { jq -c "select(.event == \"$1\") | $2" "$events" | head -n 1; } # EVENT FIELDS
  [ "$(one granted '[.schema, .reason, .user, .store, .waited_ms < 10000, .pid > 0, .token > 0]')" = \
    "[\"dlock.event/1\",\"release 2.4\",\"$(id -un)\",\"local:$locks\",true,true,true]" ]
  [ "$(one busy '.holder.reason')" = '"release 2.4"' ]
  [ "$(one force-released '[.reason, .holder.reason]')" = '["hangs since 2.4","release 2.4"]' ]
  [[ "$(one lost .why)" == *"hangs since 2.4"* ]]
  [ "$(one signalled '[.signal, .why]')" = '[15,"the lock was lost"]' ]
  [ "$(one granted .owner)" = "$(one lost .owner)" ]
  [ "$(one lost .owner)" = "$(one force-released .owner)" ]
  [ "$(one released '.held_ms >= 0')" = true ]
}

# bats test_tags=all
@test "leases that acquire leaves, nested runs, several keys and waits that are ended are told apart" {
  export DLOCK_EVENTS=$events
  dlock run b a -- dlock run a -- true
  [ "$(story b)" = "granted released(0)" ]
  [ "$(jq -c 'select(.key == "a") | [.event, .reentered]' "$events" | xargs)" = \
    "[granted,null] [granted,true] [released,true] [released,null]" ]
  eval "$(dlock acquire --ttl 5m --shell lease)"
  dlock renew --ttl 10m --owner "$DLOCK_OWNER" lease
  dlock release --owner "$DLOCK_OWNER" lease
  unset DLOCK_OWNER DLOCK_HELD
  [ "$(jq -r 'select(.key == "lease") | .event + " " + (.until != null | tostring)' "$events" | xargs)" = \
    "granted true renewed true released false" ]
  hold_lock k
  start_watched waiter dlock run -q k -- true
  wait_until has 1 waiters k
  kill -TERM "$(pid_of waiter)"
  [ "$(how_ended waiter)" = "signal 15" ]
  let_go
  [[ "$(story k)" == *withdrawn* ]]
  dlock run --max-hold 200ms -q long -- sleep 100 || [ $? = 124 ]
  [ "$(jq -r 'select(.key == "long") | .event + " " + .outcome' "$events" | xargs)" = "granted signalled released overheld" ]
}

@test "writers that run side by side, and a file that is rotated meanwhile, lose no line" {
  export DLOCK_EVENTS=$events
  mv_when_half() {
    wait_until lines_in "$events" 40
    mv "$events" rotated
  }
  mv_when_half &
  for n in {1..8}; do
    for _ in {1..10}; do dlock run "key$n" -- true; done &
  done
  wait
  touch "$events" # nobody wrote after a late mv
  cat rotated "$events" >all
  [ "$(jq -s length all)" = 160 ]
  [ "$(jq -s '[.[] | select(.event == "granted")] | length' all)" = 80 ]
}

@test "what cannot be recorded is one warning, and changes neither the command nor its exit status" {
  mkfifo pipe
  for place in /dev/full ./pipe journald:/nowhere/socket; do
    run -5 --separate-stderr dlock run --events "$place" k -- sh -c 'echo ran; exit 5'
    [ "$output" = ran ]
    [[ "$stderr" == "dlock: what happens to k is not recorded: $place: "*"; everything else goes on" ]]
    [ "${#stderr_lines[@]}" = 1 ]
  done
  DLOCK_EVENTS=/nowhere/file run -5 dlock run k -- sh -c 'exit 5'
  [[ "$output" == *"is not recorded: /nowhere/file: No such file or directory; everything else goes on"* ]]
  DLOCK_EVENTS=fd:9 run -5 dlock run k -- sh -c 'exit 5' # 9 is not open: its owner has closed it
  [[ "$output" == *"is not recorded: fd:9: Bad file descriptor"* ]]
  run -0 dlock run --events off k -- true
  [ "$output" = "" ]
}

@test "a machine without a journal: a configured journald is silent there, one that was typed is a warning" {
  mounts_apart || skip "no right to mount"
  printf '%s\n' '[defaults]' 'events = "journald"' >dlock.toml
  without_run() { "${apart[@]}" sh -c 'mount -t tmpfs none /run && exec "$@"' sh "$@"; }
  run -5 without_run dlock run -C "$PWD/dlock.toml" k -- sh -c 'exit 5'
  [ "$output" = "" ]
  run -5 without_run dlock run --events journald k -- sh -c 'exit 5'
  [[ "$output" == *"is not recorded: journald: No such file or directory; everything else goes on" ]]
}

@test "a place for events that can be none is refused before anything is locked" {
  for place in fd:x fd:9 journald: journald:deploy syslog syslog:/dev/log; do
    run -64 dlock run --events "$place" k -- touch ran
    [[ "$output" == "dlock: --events: "*"${place%%:/*}"*$'\n'*"journald, fd:N or off"* ]]
  done
  [ ! -e ran ]
  [ "$(ls)" = "" ]
  run -64 dlock history --since 2026-02-30 --events "$events"
  [[ "$output" == "dlock: --since: '2026-02-30' is not a moment"* ]]
}

@test "a file for events or a report that cannot be opened is refused before anything is locked, with the same words" {
  mkdir folder
  for place in /nowhere/file ./folder; do
    run dlock run --report "$place" k -- touch ran
    local report=$status words=${output#dlock: cannot write the report }
    for command in "run --events $place k -- touch ran" "acquire --events $place --ttl 1m k" "hold --events $place k"; do
      # shellcheck disable=SC2086
      run dlock $command </dev/null
      [ "$status" = "$report" ]
      [[ "$output" == "dlock: cannot write the events to ${words%%$'\n'*}"* ]]
    done
  done
  [ ! -e ran ]
  is_free k
}

@test "a report into a pipe that nobody reads is refused, and a reader that comes in time has it" {
  mkfifo pipe
  run -71 dlock run --report pipe k -- touch ran
  [[ "$output" == "dlock: cannot write the report pipe: "*"nobody reads that pipe"* ]]
  [ ! -e ran ]
  start_watched reader sh -c 'exec cat pipe >report'
  reads() { [ "$(cat "/proc/$(pid_of reader)/comm")" = cat ]; }
  wait_until reads
  run -0 dlock run --report pipe k -- true
  [ "$(how_ended reader)" = "exit 0" ]
  [ "$(jq -r .outcome report)" = ran ]
}

@test "a record that may not grow any more costs CMD nothing, and no other command its end" {
  head -c 4096 /dev/zero >"$events"
  limited() { (ulimit -f 2 && exec "$@"); }
  run -5 limited dlock run --events "$events" k -- sh -c 'echo ran; sleep 0.3; exit 5'
  [[ "$output" == *"is not recorded: $events: File too large; everything else goes on"*ran ]]
  hold_lock k
  run -0 limited dlock force-release --yes --events "$events" k
  [[ "$output" == *"is free now"* ]]
}

@test "a pipe that is full and not read, and a log daemon that hangs, hold up nobody" {
  "${python[@]}" - "$BATS_TEST_TMPDIR/log" 3>&- <<'PY' &
import os, signal, socket, sys
daemon = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
daemon.bind(sys.argv[1])
client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
client.setblocking(False)
client.connect(sys.argv[1])
try:
    while True: client.send(b"x" * 1000)
except BlockingIOError: open("full", "w").write("x")
signal.pause()
PY
  started+=($!)
  wait_until filled full
  run -0 timeout $((5 * slowness)) dlock run --events "journald:$BATS_TEST_TMPDIR/log" k -- true
  [[ "$output" == *"is not recorded"*"Resource temporarily unavailable"* ]]
  mkfifo pipe
  exec {full}<>pipe
  head -c 65536 /dev/zero >&"$full"
  run -0 timeout $((5 * slowness)) dlock run --events "fd:$full" k -- true
  [[ "$output" == *"is not recorded: fd:$full: Resource temporarily unavailable"* ]]
}

@test "the journal gets fields" {
  "${python[@]}" - "$BATS_TEST_TMPDIR/journal" <<'PY' >received 3>&- &
import os, socket, sys
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind(sys.argv[1])
open("listening", "w").write("x")
while True:
    print(journal.recv(65536).decode(), flush=True)
PY
  started+=($!)
  wait_until filled listening
  dlock run --events "journald:$BATS_TEST_TMPDIR/journal" -m why deploy/prod -- true
  wait_until grep -q DLOCK_EVENT=released received
  for field in 'MESSAGE=deploy/prod: granted to ' DLOCK_KEY=deploy/prod DLOCK_EVENT=granted DLOCK_REASON=why 'DLOCK_TOKEN=[0-9]' PRIORITY=6 \
    SYSLOG_IDENTIFIER=dlock DLOCK_EXIT_CODE=0; do
    grep -q "^$field" received || { echo "no $field"; return 1; }
  done
  sed -n 's/^DLOCK_JSON=//p' received >"$events"
  [ "$(story deploy/prod)" = "granted released(0)" ]
}

@test "the configuration says where, for all keys or some" {
  mkdir -p "$HOME/.config/dlock"
  printf '[defaults]\nevents = "%s"\n[key."quiet/*"]\nevents = "off"\n' "$events" >"$HOME/.config/dlock/config.toml"
  dlock run loud -- true
  dlock run quiet/x -- true
  dlock run --events ./other quiet/x -- true
  [ "$(jq -r .key "$events" | sort -u)" = loud ]
  [ "$(jq -r .key other | sort -u)" = quiet/x ]
}

# --- dlock history ---------------------------------------------------------------------------------------------------

# A night that somebody asks about: a deployment was lost, another one waited for it, a third one gave up.
record_a_night() {
  export DLOCK_EVENTS=$events
  script_victims
  start_watched first dlock run -m 'release 2.4' deploy/prod -- note first
  wait_until is_held deploy/prod
  run -75 dlock run -n deploy/prod -- true
  start_watched second dlock run -q deploy/prod -- sh -c 'exit 3'
  wait_until recorded deploy/prod waiting
  dlock force-release --yes --reason 'hangs since 2.4' deploy/prod
  [ "$(how_ended second)" = "exit 3" ]
  dlock run nightly -- true
}

@test "history tells who waited, held, lost and gave up, with totals for each key" {
  record_a_night
  run -0 dlock history
  [[ "${lines[0]}" == when*key*who*waited*held*outcome ]]
  told() { [[ "$output" =~ $1 ]] || { echo "not told: $1 in:"; echo "$output"; return 1; }; }
  told "deploy/prod .*LOST: force-released by .*hangs since 2.4.*\(release 2.4\)"
  told "deploy/prod .*busy: held by .*note"
  told "deploy/prod .*exit 3"
  told "nightly .* ok"
  told "key +grants +busy +lost +wait p50 +p95 +hold p50 +p95 +longest"
  told "deploy/prod +2 +1 +1 "
  told "nightly +1 +0 +0 "
  run -0 dlock history 'deploy/*'
  [[ "$output" != *nightly* ]]
  run -0 dlock history --until 2020-01-01T00:00:00Z
  [ "$output" = "nothing that matches is recorded in $events" ]
  run -64 dlock history --since someday
  run -0 dlock history --since today nightly
  [[ "$output" == *"$(id -un)@$(uname -n) ("*", pid "*" ok"* ]]
  run -64 dlock history --since 03:00 --until 02:00
}

# bats test_tags=all
@test "history on a narrow terminal cuts no outcome" {
  record_a_night
  local columns
  for columns in 40 80; do
    terminal -- sh -c "stty columns $columns; exec dlock --color never history" | tr -d '\r' >seen
    [[ "$(tr -s ' \n' ' ' <seen)" == *"LOST: force-released by "*"hangs since 2.4"*"(release 2.4)"*"busy: held by "*" exit 3 "* ]]
    [ "$(LC_ALL=C.UTF-8 wc -L <seen)" -le $columns ]
  done
}

@test "history as JSON has the same figures, and as a picture the lanes, the loss and the signal" {
  record_a_night
  dlock history --json >all.json
  [ "$(jq -c 'select(.schema == "dlock.history.key/1") | [.key, .grants, .busy, .lost]' all.json | xargs)" = \
    "[deploy/prod,2,1,1] [nightly,1,0,0]" ]
  [ "$(jq -r 'select(.key == "deploy/prod" and .schema == "dlock.history/1") | .end' all.json | sort | xargs)" = "busy lost released" ]
  [ "$(jq -c 'select(.end == "lost") | [.signals, .who.reason, .held_ms > 0]' all.json)" = '[[15],"release 2.4",true]' ]
  dlock history --since 1h --svg >picture.svg
  for part in '<svg ' '>deploy/prod<' '>nightly<' '>LOST, TERM<' 'fill="#c62828"' '>holds '; do
    grep -qF -- "$part" picture.svg || { echo "no $part in the picture"; return 1; }
  done
  rsvg-convert picture.svg -o picture.png
  filled picture.png
  run -64 dlock history --svg --json
}

@test "a record with torn and foreign lines is read all the same, and what was skipped is said" {
  dlock run --events "$events" k -- true
  {
    head -c 100 "$events"
    cat "$events"
    echo 'not ours'
    head -c 1500000 /dev/zero
    echo # behind a hole that a power failure left
    tail -n 1 "$events" | head -c 50
  } >broken
  run -0 --separate-stderr dlock history --events ./broken
  [[ "$output" == *" ok"* ]]
  [[ "$stderr" == *"broken has 2 events of which only a part was written: skipped"* ]]
  [[ "$stderr" == *"broken has 2 lines that are not events: skipped"* ]]
  mv "$events" rotated.1
  dlock run --events ./rotated k -- true
  [ "$(dlock history --events ./rotated --json | jq -c 'select(.schema == "dlock.history.key/1") | .grants')" = 2 ]
}

@test "a record that was rotated is read before anything new is in it" {
  run -3 dlock run --events "$events" k -- sh -c 'exit 3'
  mv "$events" "$events.1"
  run -0 --separate-stderr dlock history --events "$events"
  [[ "$output" == *"k "*" exit 3"* ]]
  [ "$stderr" = "" ]
  run -0 dlock inspect --events "$events" k
  [[ "$output" == *"last held by "*" exit 3"* ]]
  run -0 --separate-stderr dlock metrics --events "$events"
  [[ "$output" == *"dlock_grants_total{store=\"local:$locks\",key=\"k\"} 1"* ]]
  [ "$stderr" = "" ]
  [ ! -e "$events" ]
}

@test "a record that cannot be read is an error that says what to do" {
  run -78 dlock history
  [[ "$output" == *"no events are recorded"*"events = "* ]]
  run -78 dlock history --events ./nowhere
  [[ "$output" == *"there is no such file"* ]]
  run -78 dlock history --events fd:1
  need_root
  open_world
  install -m 600 /dev/null secret
  run -77 nobody dlock history --events ./secret
  [[ "$output" == *"cannot read the events in ./secret: Permission denied"* ]]
}

@test "a pipe is waited for by history alone; nobody reads a device" {
  run -0 dlock run --events "$events" k -- true
  run -0 dlock history --events <(sleep 0.2; cat "$events")
  [[ "$output" == *" ok"* ]]
  mkfifo pipe
  exec {writer}<>pipe
  for place in ./pipe /dev/zero; do
    run -0 timeout "$patience" dlock inspect --events "$place" k
    [[ "$output" == *free* ]]
    run -0 timeout "$patience" dlock metrics --events "$place"
    [[ "$output" == *"cannot read events from $place: it is a "*"only what is held now is reported"* ]]
  done
  run -78 timeout "$patience" dlock history --events /dev/zero
  [[ "$output" == *"cannot read events from /dev/zero: it is a device"* ]]
}

@test "history asks the journal through journalctl" {
  dlock run --events "$events" -m why k -- true
  script journalctl <<SCRIPT
#!/bin/sh
case "\$*" in *--identifier=dlock*) ;; *) exit 1 ;; esac
jq -Rc '{DLOCK_JSON: .}' "$events" | head -n 1
jq -Rc '{MESSAGE: .}' "$events" | tail -n 1
SCRIPT
  run -0 dlock history --events journald
  [[ "$output" == *"k "*" ok  (why)"* ]]
  script journalctl <<'SCRIPT'
#!/bin/sh
echo 'No journal files were opened due to insufficient permissions.' >&2
exit 1
SCRIPT
  run -77 dlock history --events journald
  [[ "$output" == *"insufficient permissions"*"cannot read the journal"*"systemd-journal"* ]]
}

@test "history is of all stores, or of the one that is typed" {
  dlock run --events "$events" here -- true
  dlock run -q -b "local:$PWD/other" --events "$events" there -- true
  told() { dlock history --events "$events" --json "$@" | jq -r 'select(.schema == "dlock.history/1") | .key' | sort | xargs; }
  [ "$(told)" = 'here there' ]
  [ "$(told -b "local:$PWD/other")" = there ]
  [ "$(told -b "$DLOCK_BACKEND")" = here ]
  run -0 dlock history --events "$events" -b redis://127.0.0.1:1
  [[ "$output" == "nothing that matches is recorded"* ]]
}

@test "inspect tells of a free lock who had it last, and how that ended" {
  export DLOCK_EVENTS=$events
  run -3 dlock run -m why k -- sh -c 'exit 3'
  run -0 dlock inspect k
  [[ "$output" == *"last held by $(id -un)@$(uname -n) (sh, pid "*"ago: exit 3"* ]]
  last() { dlock inspect --json "$@" k | jq -r '.last // {} | "\(.schema) \(.end) \(.exit_code) \(.who.command) \(.who.reason)"'; }
  [ "$(last)" = "dlock.history/1 released 3 sh why" ]
  [ "$(last --events /nowhere/at/all)" = "null null null null null" ]
  [ "$(dlock run k -- dlock inspect --json k | jq 'has("last")')" = false ]
  run -0 env -u DLOCK_EVENTS dlock inspect k
  [[ "$output" != *"last held"* ]]
  run -0 dlock inspect --events /nowhere/at/all k
  [[ "$output" == *free* ]]
}

# --- dlock metrics ---------------------------------------------------------------------------------------------------

@test "metrics say when a lock was last lost, and go on saying it when older losses are rotated away" {
  lose() {
    start_watched loser dlock run --events "$events" -q k -- sleep 100
    wait_until has 1 holders k
    dlock force-release -q --yes k
    [ "$(how_ended loser)" = "exit 79" ]
  }
  last_loss() { dlock metrics --events "$events" | sed -n 's/^dlock_last_loss_timestamp_seconds{.*} //p'; }
  local before
  before=$(date +%s)
  lose
  mv "$events" "$events.1"
  lose
  [ "$(last_loss)" -ge "$before" ]
  [ "$(last_loss)" -le "$(date +%s)" ]
  local seen
  seen=$(last_loss)
  mv "$events" "$events.1"
  dlock run --events "$events" k -- true
  [ "$(last_loss)" = "$seen" ]
}

# bats test_tags=all
@test "metrics are of the store and of the record, by key" {
  run -0 dlock run --events "$events" 'a"b\c' -- true
  dlock run --events "$events" deploy/prod -- true
  dlock run -q -b "local:$PWD/other" --events "$events" deploy/prod -- true # counts for its own store
  hold_lock --events "$events" deploy/prod
  start dlock run -q deploy/prod -- true
  wait_until has 1 waiters deploy/prod
  run -75 dlock run -n --events "$events" deploy/prod -- true
  run -0 --separate-stderr dlock metrics --events "$events"
  [ "$stderr" = "" ]
  labels="{store=\"local:$locks\",key=\"deploy/prod\""
  for line in "dlock_holders$labels} 1" "dlock_waiters$labels} 1" "dlock_grants_total$labels} 2" "dlock_busy_total$labels} 1" \
    "dlock_losses_total$labels} 0" "dlock_last_loss_timestamp_seconds$labels} 0" "dlock_last_exit_code$labels} 0" "dlock_hold_seconds_bucket$labels,le=\"10\"} 1" "dlock_hold_seconds_bucket$labels,le=\"+Inf\"} 1" \
    "dlock_hold_seconds_count$labels} 1" "dlock_wait_seconds_count$labels} 2" "dlock_grants_total{store=\"local:$locks\",key=\"a\\\"b\\\\c\"} 1" \
    '# TYPE dlock_hold_seconds histogram' '# EOF'; do
    grep -qxF -- "$line" <<<"$output" || { echo "no line: $line"; echo "$output"; return 1; }
  done
  grep -qE '^dlock_oldest_hold_seconds\{.*\} [0-9.e-]+$' <<<"$output"
  [ "${lines[-1]}" = '# EOF' ]
  run -0 dlock metrics --events "$events" --match 'a*'
  [[ "$output" != *deploy/prod* ]]
  [[ "$output" == *dlock_grants_total* ]]
  run -0 --separate-stderr dlock metrics --events ./nowhere
  [[ "$output" == *dlock_holders* ]]
  [[ "$stderr" == *"only what is held now is reported"* ]]
  let_go
}

@test "a journalctl that fails is an error, also where SIGCHLD is ignored" {
  mkdir programs
  printf '#!/bin/sh\nexit 1\n' >programs/journalctl
  chmod +x programs/journalctl
  PATH=$PWD/programs:$PATH run -77 perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' dlock history --events journald
}

@test "history: a lease that revoke ends is released; the rest of --at-least, by whoever, ends as its run did" {
  export DLOCK_EVENTS=$events
  attempt() { dlock history --json "$1" | jq -c "select(.schema == \"dlock.history/1\") | $2"; } # KEY FIELDS
  dlock acquire --ttl 1h lease
  run -0 dlock revoke -w 10s lease
  [ "$(story lease)" = "granted revoked released" ]
  [ "$(attempt lease '[.end, .held_ms != null]')" = '["released",true]' ]
  for key in kept given; do run -3 dlock run --at-least 1h "$key" -- sh -c 'exit 3'; done
  run -0 dlock revoke -w 10s kept
  run -0 dlock release --owner "$(holder_field given owner)" given
  for key in kept given; do
    [ "$(attempt "$key" 'def s: sub("[.].*"; "Z") | fromdate; [.end, .exit_code, (.kept_until | s) - (.ended | s) < 1800]')" = '["released",3,true]' ]
  done
}

@test "what revoke takes by force is force-released in the record, and lost in the history" {
  export DLOCK_EVENTS=$events
  hold_lock k
  kill -STOP "$holder"
  run -0 dlock revoke -w 300ms --force -m 'hangs since 2.4' k
  [ "$(story k)" = "granted revoked force-released" ]
  jq -se --arg owner "$holder_owner" --argjson pid "$holder" \
    'any(.[]; .event == "force-released" and .owner == $owner and .reason == "hangs since 2.4" and .holder.pid == $pid)' "$events"
  run -0 dlock history k
  [[ "$output" == *"LOST: force-released by "*"hangs since 2.4"* ]]
  kill -CONT "$holder"
  local status=0
  let_go || status=$?
  [ "$status" = 79 ]
}

@test "history: a slot of --once that is forgotten adds no hold" {
  export DLOCK_EVENTS=$events
  dlock run --once 2026-02-03 k -- true
  dlock release --slot 2026-02-03 k
  [ "$(story k)" = "granted released(0) released" ]
  [ "$(dlock history --json | jq -c 'select(.schema == "dlock.history/1") | [.end, .exit_code]')" = '["released",0]' ]
  mv "$events" grant
  tail -n 1 grant >"$events" # its run is no longer recorded
  [ "$(dlock history --json)" = "" ]
}

@test "history -n shows the last attempts only, --follow each one when it ends" {
  export DLOCK_EVENTS=$events
  for n in 1 2 3; do dlock run "key$n" -- true; done
  [ "$(dlock history -n 2 --json | jq -r 'select(.schema == "dlock.history/1") | .key' | xargs)" = "key2 key3" ]
  run -64 dlock history -n 0
  run -64 dlock history --follow --svg
  dlock history -n 1 --follow >followed &
  local reader=$!
  wait_until grep -q key3 followed
  dlock run key4 -- sh -c 'exit 3' || [ $? = 3 ]
  wait_until grep -q 'key4.*exit 3' followed
  dlock run key5 -- true
  wait_until grep -q key5 followed
  kill "$reader"
  [ "$(grep -c key4 followed)" = 1 ]
  run ! grep -q key2 followed
}
