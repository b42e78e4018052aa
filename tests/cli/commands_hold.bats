# SPDX-License-Identifier: Apache-2.0
# hold, acquire, renew, release, wait: a lock without a command under it.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }

@test "hold: prints OWNER TOKEN, holds until stdin ends, then releases" {
  hold_lock k
  [ "$(wc -l <"$BATS_TEST_TMPDIR/holder.out")" = 1 ]
  [ "$(holder_field k owner)" = "$holder_owner" ]
  [ "$(holder_field k token)" = "$holder_token" ]
  run -75 dlock run -q -n k -- true
  let_go
  run -0 dlock run -n k -- true
}

@test "hold: the lock of a coprocess is gone when its script is, SIGKILL included" {
  script holding <<'SCRIPT'
#!/bin/bash
coproc dlock hold k
read -r owner token <&"${COPROC[0]}"
sleep 300 </dev/null >/dev/null 2>&1 &
echo $! >child.pid
echo $$ >script.pid
wait
SCRIPT
  start holding
  wait_until filled script.pid
  run -75 dlock run -q -n k -- true
  kill -KILL "$(cat script.pid)"
  run -0 dlock run -w 10 k -- true
  run -0 kill -0 "$(cat child.pid)"
}

@test "hold: TERM releases" {
  hold_lock k
  kill -TERM "$holder"
  wait_until is_free k
  wait_until ended "$holder"
}

no_signal_pending() { # PID
  grep -q '^ShdPnd:.0*$' "/proc/$1/status"
}

@test "hold: what only wakes or tells ends nothing; ^Z and fg of its script keep the lock" {
  hold_lock k
  kill -STOP "$holder"
  wait_until in_state "$holder" T
  kill -WINCH "$holder"
  kill -CONT "$holder"
  wait_until no_signal_pending "$holder"
  run -75 dlock run -q -n k -- true
  let_go
  script holding <<'SCRIPT'
#!/bin/bash
coproc dlock hold z
read -r owner token <&"${COPROC[0]}"
echo $$ >holding.pid
until [ -e finish ]; do sleep 0.1; done
dlock check z "$token" && echo still "held"
SCRIPT
  script stopped <<'SCRIPT'
#!/bin/sh
until grep -q '^State:.T' "/proc/$(cat holding.pid)/status"; do sleep 0.1; done
SCRIPT
  run -0 terminal 'expect:PS> ' 'send:holding\n' file:holding.pid 'send:\x1a' 'expect:Stopped[^P]*PS> ' run:stopped \
    'send:fg\n' 'expect:holding' 'run:touch finish' 'expect:still held[^P]*PS> ' 'send:exit\n' \
    -- env PS1='PS> ' bash --norc --noprofile -i
}

@test "hold: stdin that ends while the lock is waited for ends the hold as soon as it begins" {
  hold_lock k
  dlock hold k </dev/null >waiter.out 3>&- {holder_stdin}>&- &
  local waiter=$!
  wait_until has 1 waiters k
  let_go
  wait_until ended "$waiter"
  [ "$(wc -l <waiter.out)" = 1 ]
  run -0 dlock run -n k -- true
}

@test "hold: busy is 75, closed stdin ends at once, stdout that cannot be written is no success" {
  hold_lock k
  run -75 --separate-stderr dlock hold -n k
  [ "$output" = "" ]
  let_go
  run -0 bash -c 'dlock hold k <&-'
  run bash -c 'dlock hold k </dev/null >/dev/full'
  [ "$status" = 71 ]
  run -0 dlock run -n k -- true
}

@test "hold: a stdin that somebody else reads as well is not at its end" {
  # As if that one, whose descriptor does not block, had every line first.
  start_watched end bash -c 'exec "$@" <<<line' bash "${python[@]}" "$support/denying.py" read 0 0 EAGAIN dlock hold k
  has_tried() { [ -s end ] || awk -v busy=5 '{ exit !($14 + $15 > busy) }' "/proc/$(pid_of end)/stat"; }
  wait_until is_held k
  wait_until has_tried
  run -75 dlock run -q -n k -- true
  kill -TERM "$(pid_of end)"
  [ "$(how_ended end)" = "exit 0" ]
}

@test "acquire: a handle for renew and release in other processes" {
  local owner token rest
  read -r owner token rest < <(dlock acquire --ttl 1m -m why k)
  [ -n "$owner" ]
  [[ "$token" =~ ^[0-9]+$ ]]
  [ "$rest" = "" ]
  [ "$(holder_field k owner)" = "$owner" ]
  [ "$(holder_field k reason)" = why ]
  run -75 dlock run -q -n k -- true
  run -0 dlock renew --ttl 2m --owner "$owner" k
  run -0 dlock check k "$token"
  run -0 dlock release k --owner "$owner"
  [ "$output" = "" ]
  run -0 dlock run -n k -- true
}

@test "acquire: a lease is shown as one, without a process, or with the one that is watched for it" {
  local owner
  read -r owner _ < <(dlock acquire --ttl 1m k)
  [ "$(holder_field k lease)" = true ]
  [ "$(holder_field k pid)" = null ]
  run -0 dlock inspect k
  [[ "$output" == *"$(hostname) (lease, no process) "*" ends in "* ]]
  run -0 dlock release --owner "$owner" k
  run -0 dlock acquire --watch-pid $$ k
  run -0 dlock inspect k
  [[ "$output" == *"$(hostname) (lease, kept by pid $$) "*"until process $$ ends"* ]]
}

@test "acquire: somebody else's handle, and a second release, are 79 and free nothing" {
  local owner token
  read -r owner token < <(dlock acquire --ttl 1m k)
  run -79 dlock release k --owner 00112233445566778899aabbccddeeff
  run -79 dlock renew k --ttl 1m --owner 00112233445566778899aabbccddeeff
  run -75 dlock run -q -n k -- true
  run -0 dlock release k --owner "$owner"
  run -79 dlock release k --owner "$owner"
  [[ "$output" == dlock:* ]]
  run -0 dlock release --if-held k --owner "$owner"
  hold_lock k
  run -79 dlock release k --owner "$owner"
  run -75 dlock run -q -n k -- true
}

@test "acquire: the lease ends by itself after --ttl, unless it is renewed" {
  local owner token over_owner over_token
  read -r owner token < <(dlock acquire --ttl 1s short)
  read -r over_owner over_token < <(dlock acquire --ttl 1s over)
  read -r owner token < <(dlock acquire --ttl 1s long)
  dlock renew --ttl 1m --owner "$owner" long
  run -0 dlock run -w 10 short -- true
  run -75 dlock run -q -n long -- true
  dlock release --owner "$owner" long
  # One that nobody has taken since is over as well.
  run -79 dlock renew --ttl 1m --owner "$over_owner" over
  run -79 dlock check over "$over_token"
  run -0 dlock run -n over -- true
}

@test "acquire: --ttl or --watch-pid has to be chosen" {
  run -64 dlock acquire k
  [[ "$output" == *--ttl* ]]
  run -64 dlock acquire --watch-pid 999999999 k
}

@test "acquire --watch-pid: a process that ends during the wait, or has ended, is not watched: 64, and the lock is free" {
  hold_lock k
  sleep 300 &
  local watched=$!
  start_watched a dlock acquire --watch-pid "$watched" k 2>said
  wait_until has 1 waiters k
  kill "$watched"
  wait "$watched" || true
  let_go
  [ "$(how_ended a)" = "exit 64" ]
  grep -q 'there is no such process' said
  run -0 dlock run -n k -- true
  run -64 sh -c 'true & sleep 0.2; exec dlock acquire --watch-pid $! k' # a child that nobody has reaped
  run -0 dlock run -n k -- true
}

@test "acquire --watch-pid: the lock lives as long as that process" {
  start sleep 300
  local watched=$started_pid
  dlock acquire --watch-pid "$watched" k >handle
  run -75 dlock run -q -n k -- true
  kill "$watched"
  run -0 dlock run -w 10 k -- true
}

@test "acquire: what stays behind keeps no descriptor of the caller" {
  run -0 timeout 5 bash -c 'handle=$(dlock acquire --ttl 1m k 2>&1); echo "$handle" | cat'
  dlock release k --owner "${output%% *}"
}

@test "acquire --json and hold --json: one object" {
  local json
  json=$(dlock acquire --json --ttl 1m k)
  jq -e '.schema == "dlock.acquire/2" and .key == "k" and .token > 0 and (.until | endswith("Z"))' <<<"$json"
  run -0 dlock release --json k --owner "$(jq -r .owner <<<"$json")"
  jq -e '.schema == "dlock.release/2" and .released == true' <<<"$output"
  run -0 dlock hold --json k </dev/null
  jq -e '.schema == "dlock.hold/2" and .key == "k"' <<<"$output"
}

@test "acquire --shell: exports what a command has in its environment, safely quoted" {
  local key="it's \$(touch ran) \`touch ran\`" now
  now=$(date +%s)
  eval "$(dlock acquire --shell --ttl 1m "$key")"
  [ "$DLOCK_KEY" = "$key" ]
  [ "$DLOCK_KEYS" = "$key" ]
  [ "$DLOCK_OWNER $DLOCK_TOKEN" = "$(holder_field "$key" owner) $(holder_field "$key" token)" ]
  [ "$DLOCK_STORE" = "$(dlock inspect --json "$key" | jq -r .store)" ]
  ((DLOCK_DEADLINE >= now + 59 && DLOCK_DEADLINE <= now + 90))
  [ ! -e ran ]
  [ "$(sh -c 'echo "$DLOCK_OWNER $DLOCK_TOKEN"')" = "$DLOCK_OWNER $DLOCK_TOKEN" ]
  run -0 dlock run -n "$key" -- sh -c 'dlock inspect --json "$DLOCK_KEY" | jq ".holders | length"'
  [ "$output" = 1 ]
  run -0 dlock release --owner "$DLOCK_OWNER" "$key"
}

@test "acquire --shell: a watched lease has no deadline, and no lock is a failure of the eval too" {
  hold_lock k
  run -75 sh -c 'eval "$(dlock acquire -q -n --shell --ttl 1m k)"'
  let_go
  run -0 dlock acquire --shell --watch-pid $$ k
  [[ "$output" == *$'\nexport DLOCK_DEADLINE=\'\'\n'* ]]
  run -64 dlock acquire --json --shell --ttl 1m other
}

@test "acquire --shell: whatever is wrong with its line or its settings is a failure of the eval" {
  local line
  for line in 'dlock acquire --shell -b nosuch --ttl 1m k' 'dlock -b nosuch acquire --ttl 1m k --shell' \
    'dlock acquire --shell -C /nofile --ttl 1m k' 'dlock acquire --shell k' 'dlock acquire --shell --ttl 1x k' \
    'dlock acquire --shell --ttl 1m --bogus k' 'dlock acquire --shell --ttl 1m' 'dlock acquire --shell --json --ttl 1m k' \
    'dlock aquire --shell --ttl 1m k' 'env DLOCK_BACKEND= dlock acquire --shell --ttl 1m k'; do
    # shellcheck disable=SC2086
    run --separate-stderr $line
    echo "$line: $status $output"
    [ "$status" -ge 64 ]
    [ "$output" = "(exit $status)" ]
    [ "$stderr" != "" ]
    run "-$status" sh -c "eval \"\$($line 2>/dev/null)\" || exit; touch ran"
  done
  [ ! -e ran ]
  run -64 --separate-stderr dlock acquire --ttl 1x k
  [ "$output" = "" ]
  run -64 --separate-stderr dlock acquire --ttl 1x -- --shell
  [ "$output" = "" ]
  run -64 --separate-stderr dlock run --bogus k sh --shell
  [ "$output" = "" ]
}

@test "acquire --shell: a signal that ends the wait is a failure of the eval, and dlock still dies of it" {
  hold_lock k
  start_watched alone bash -c 'exec dlock acquire -q --shell --ttl 1m k >printed'
  script evaluating <<'SCRIPT'
#!/bin/sh
eval "$(sh -c 'echo $$ >waiting.pid; exec dlock acquire -q --shell --ttl 1m k')" || exit
touch ran
SCRIPT
  start_watched evaluated evaluating
  wait_until has 2 waiters k
  kill -TERM "$(pid_of alone)" "$(pid_of waiting)"
  [ "$(how_ended alone)" = "signal 15" ]
  [ "$(<printed)" = "(exit 143)" ]
  [ "$(how_ended evaluated)" = "exit 143" ]
  [ ! -e ran ]
}

@test "acquire and --once take no file, which is locked only while a process has it open; --at-least keeps dlock there" {
  : >file
  run -78 dlock acquire --ttl 1m "$PWD/file"
  [[ "$output" == *"and a lease has none"*"dlock hold"* ]]
  run -64 dlock run --once s1 "$PWD/file" -- touch ran
  [ ! -e ran ]
  start_watched end dlock run --at-least 1m "$PWD/file" -- touch ran
  wait_until test -e ran
  run -1 flock -n file true
  run -75 dlock run -q -n "$PWD/file" -- true
  kill -TERM "$(pid_of end)"
  [ "$(how_ended end)" = "signal 15" ]
  run -0 flock -n file true
  run -0 dlock run -n "$PWD/file" -- true
  local began=$SECONDS
  run -4 dlock run --at-least 2s "$PWD/file" -- sh -c 'exit 4'
  ((SECONDS - began >= 1))
  run -0 flock -n file true
}

@test "acquire: a lease needs no process, also where none can be started" {
  need_root
  open_world
  install -d -o 65534 -m 700 theirs
  run -0 nobody DLOCK_BACKEND="local:$PWD/theirs" bash -c 'ulimit -u 1; exec dlock acquire --shell --ttl 1m k'
  run -75 nobody DLOCK_BACKEND="local:$PWD/theirs" dlock run -q -n k -- true
}

@test "wait: returns when the key is free, and takes nothing" {
  run -0 dlock wait k
  [ "$output" = "" ]
  hold_lock k
  run -75 dlock wait -q -w 100ms k
  run -75 dlock wait -q -n k
  start_watched end dlock wait -q k
  run -75 dlock run -q -w 100ms k -- true
  [ ! -e end ]
  let_go
  [ "$(how_ended end)" = "exit 0" ]
  [ "$(count holders k)" = 0 ]
}
