# SPDX-License-Identifier: Apache-2.0
# Every command but run: what it prints, and its exit status.
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

@test "acquire: a lease is shown as one, with the pid of the process that keeps it or is watched for it" {
  local owner
  read -r owner _ < <(dlock acquire --ttl 1m k)
  [ "$(holder_field k lease)" = true ]
  run -0 kill -0 "$(holder_field k pid)"
  run -0 dlock release --owner "$owner" k
  run -0 dlock acquire --watch-pid $$ k
  run -0 dlock inspect k
  [[ "$output" == *"$(hostname) (pid $$) "*"until process $$ ends"* ]]
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
  local owner token
  read -r owner token < <(dlock acquire --ttl 1s short)
  read -r owner token < <(dlock acquire --ttl 1s long)
  dlock renew --ttl 1m --owner "$owner" long
  run -0 dlock run -w 10 short -- true
  run -75 dlock run -q -n long -- true
  dlock release --owner "$owner" long
}

@test "acquire: --ttl or --watch-pid has to be chosen" {
  run -64 dlock acquire k
  [[ "$output" == *--ttl* ]]
  run -64 dlock acquire --watch-pid 999999999 k
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
  jq -e '.schema == "dlock.acquire/1" and .key == "k" and .token > 0 and (.until | endswith("Z"))' <<<"$json"
  run -0 dlock release --json k --owner "$(jq -r .owner <<<"$json")"
  jq -e '.schema == "dlock.release/1" and .released == true' <<<"$output"
  run -0 dlock hold --json k </dev/null
  jq -e '.schema == "dlock.hold/1" and .key == "k"' <<<"$output"
}

@test "acquire --shell: assignments with the names of a command's environment, safely quoted" {
  local key="it's \$(touch ran) \`touch ran\`" now
  now=$(date +%s)
  eval "$(dlock acquire --shell --ttl 1m "$key")"
  [ "$DLOCK_KEY" = "$key" ]
  [ "$DLOCK_KEYS" = "$key" ]
  [ "$DLOCK_OWNER $DLOCK_TOKEN" = "$(holder_field "$key" owner) $(holder_field "$key" token)" ]
  [ "$DLOCK_STORE" = "$(dlock inspect --json "$key" | jq -r .backend)" ]
  ((DLOCK_DEADLINE >= now + 59 && DLOCK_DEADLINE <= now + 90))
  [ ! -e ran ]
  run -0 dlock release --owner "$DLOCK_OWNER" "$key"
}

@test "acquire --shell: a watched lease has no deadline, and no lock is a failure of the eval too" {
  hold_lock k
  run -75 sh -c 'eval "$(dlock acquire -q -n --shell --ttl 1m k)"'
  let_go
  run -0 dlock acquire --shell --watch-pid $$ k
  [[ "$output" == *$'\nDLOCK_DEADLINE=\'\'\n'* ]]
  run -64 dlock acquire --json --shell --ttl 1m other
}

@test "acquire: a handle that cannot be printed is given back" {
  run bash -c 'dlock acquire --ttl 1m k >/dev/full'
  [ "$status" = 71 ]
  run -0 dlock run -w 10 k -- true
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

@test "inspect --json: every field of dlock.inspect/1" {
  hold_lock -m 'a "reason"' k
  start dlock run -q -m patience k -- true
  wait_until has 1 waiters k
  run -0 dlock inspect --json k
  [ "${#lines[@]}" = 1 ]
  jq -e --arg owner "$holder_owner" --argjson token "$holder_token" --argjson pid "$holder" --arg user "$(id -un)" --arg host "$(uname -n)" '
    .schema == "dlock.inspect/1" and .key == "k" and (.backend | startswith("local:")) and .mode == "exclusive" and
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
  run -0 dlock status a
  [[ "$output" == a* ]]
  run -0 dlock list
  [[ "$output" == *"b/c d"* && "$output" != *dead* ]]
}

@test "inspect: a pattern shows the live locks that it matches; a mistyped KEY names the nearest one" {
  hold_lock deploy/prod
  run -0 dlock inspect 'deploy/*'
  [[ "$output" == "deploy/prod  held"* ]]
  run -0 dlock inspect 'x*'
  [[ "$output" == "no lock that is held or waited for in local:$locks matches x*" ]]
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

@test "inspect --watch on a terminal follows, and ^C leaves" {
  hold_lock k
  run terminal 'expect:held, exclusive' 'run:dlock force-release --yes k' 'expect:free' 'send:\x03' -- dlock inspect --watch --interval 100ms k
  [ "$status" = 0 ] || [ "$status" = 130 ]
}

@test "inspect --watch without a terminal is a stream that ends with its reader" {
  hold_lock k
  run -0 timeout 10 bash -c 'dlock inspect --watch --json --interval 100ms k | head -n 1'
  jq -e '.schema == "dlock.inspect/1"' <<<"$output"
}

@test "force-release: without a terminal it needs --yes" {
  hold_lock k
  run -64 dlock force-release k </dev/null
  [[ "$output" == *--yes* ]]
  [ "$(holder_field k owner)" = "$holder_owner" ]
  run -0 dlock force-release --yes k
  [[ "$output" == *"the old holder has ended: pid $holder on $(uname -n)" ]]
  run -0 dlock run -n k -- true
  run -0 dlock break --yes k
  [[ "$output" == *free* ]]
}

@test "force-release says that the old holder still runs when it sees it" {
  script_victims
  start_watched first dlock run k -- stubborn first
  wait_until filled first.pid
  holder_pid=$(holder_field k pid)
  run -0 dlock force-release --yes k
  [[ "$output" == *"the old holder still runs: pid $holder_pid on $(uname -n)" ]]
}

@test "force-release: on a terminal it shows the holder and asks for the key" {
  hold_lock k
  run -64 terminal 'expect:pid' 'expect:type the key' 'send:other\n' -- dlock force-release k
  [ "$(holder_field k owner)" = "$holder_owner" ]
  run -0 terminal 'expect:type the key' 'send:k\n' -- dlock force-release k
  wait_until is_free k
}

@test "force-release --token: 75 if the holder is another one" {
  hold_lock k
  run -75 dlock force-release --yes --token $((holder_token - 1)) k
  [ "$(holder_field k owner)" = "$holder_owner" ]
  run -0 dlock force-release --yes --token "$holder_token" --json k
  jq -e --argjson token "$holder_token" '.schema == "dlock.force-release/1" and .freed[0].token == $token' <<<"$output"
}

@test "force-release: 75 if the holder changes between being shown and the answer" {
  hold_lock k
  script change <<'SCRIPT'
#!/bin/bash
exec >/dev/null 2>&1 </dev/null
dlock force-release --yes k || exit
setsid dlock run k -- sh -c 'echo $$ >new.pid; exec sleep 300' &
until [ -s new.pid ]; do sleep 0.02; done
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
  run -79 --separate-stderr dlock fence --json db 1
  jq -e '.schema == "dlock.fence/1" and .resource == "db" and .passed == false' <<<"$output"
}

@test "fence: the token of a run passes its own resource" {
  run -0 dlock run k -- sh -c 'dlock fence db "$DLOCK_TOKEN" -- echo in'
  [ "$output" = in ]
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
  jq -e '.schema == "dlock.doctor/1" and .healthy == true and (.findings | length > 0) and all(.findings[]; .verdict | test("^(ok|warn|fail)$"))' <<<"$output"
  chmod 777 "$locks"
  run dlock doctor
  [ "$status" = 78 ] || [ "$status" = 77 ]
  [[ "$output" == *"  fail "* ]]
}

@test "ping: 0 and a time" {
  run -0 dlock ping
  [[ "$output" == *ms* ]]
  run -0 dlock ping --json
  jq -e '.schema == "dlock.ping/1" and .round_trip_ms >= 0' <<<"$output"
}

@test "config show: each setting with its origin" {
  mkdir -p .config/dlock "$HOME/.config/dlock"
  printf '[defaults]\nttl = "20s"\nreason = "from the user file"\n' >"$HOME/.config/dlock/config.toml"
  printf '[defaults]\nttl = "40s"\n' >own.toml
  run -0 env DLOCK_REASON=env dlock config show -C own.toml
  [[ "$output" == *"40s"*"own.toml:2"* ]]
  [[ "$output" == *"DLOCK_REASON"* ]]
  [[ "$output" == *"DLOCK_BACKEND"* ]]
  [[ "$output" == *"default"* ]]
  run -0 dlock config check
}

@test "config: flag before variable before --config before the user's file" {
  mkdir -p "$HOME/.config/dlock"
  printf '[defaults]\nconflict-exit-code = 11\n' >"$HOME/.config/dlock/config.toml"
  printf '[defaults]\nconflict-exit-code = 12\n' >own.toml
  hold_lock k
  run -11 dlock run -n k -- true
  run -12 dlock -C own.toml run -n k -- true
  run -13 env DLOCK_CONFLICT_EXIT_CODE=13 dlock -C own.toml run -n k -- true
  run -14 env DLOCK_CONFLICT_EXIT_CODE=13 dlock -C own.toml run -n -E 14 k -- true
}

@test "config: an unknown key is 78 with file:line:column and the nearest name" {
  printf '[defaults]\n  tttl = "20s"\n' >own.toml
  run -78 dlock -C own.toml run k -- touch ran
  [[ "$output" == *own.toml:2:3*ttl* ]]
  printf 'nonsense' >own.toml
  run -78 dlock -C own.toml config check
  [[ "$output" == *own.toml:1:* ]]
  run -78 dlock -C missing.toml run k -- touch ran
  [ ! -e ran ]
}

@test "completion: scripts that their shells accept" {
  local shell
  for shell in bash zsh fish; do
    run -0 dlock completion $shell
    printf '%s\n' "$output" >script
    [ "$(wc -l <script)" -gt 3 ]
    command -v $shell >/dev/null || skip "$shell is not installed"
    $shell -n script
  done
  run -64 dlock completion tcsh
}

@test "completion: bash completes commands, options and values" {
  dlock completion bash >script
  complete_line() { bash -c 'source ./script
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
    function=$(complete -p dlock | sed -nE "s/.*-F ([^ ]+).*/\1/p"); "$function" dlock "${!#}" "${@: -2:1}"; printf "%s\n" "${COMPREPLY[@]}"' - "$@"; }
  complete_line dlock ru | grep -x 'run *'
  complete_line dlock run --sha | grep -- '^--shared'
  complete_line dlock run --on-lost k | grep -x kill
}

@test "help: for every command, on stdout, with status 0" {
  run -0 --separate-stderr dlock help
  [ "$stderr" = "" ]
  [[ "$output" == *"dlock run"* ]]
  local command
  for command in run hold acquire renew release wait inspect force-release check fence doctor ping setup gc bench verify config completion help; do
    [[ "$output" == *"$command"* ]]
    run -0 --separate-stderr dlock help $command
    [ "$stderr" = "" ]
    [[ "$output" == *"dlock $command"* ]]
    local by_command=$output
    run -0 dlock $command --help
    [ "$output" = "$by_command" ]
    run -0 dlock help
  done
  run -64 dlock help rnu
  [[ "$output" == *run* ]]
}

@test "version: on stdout, by option and by command" {
  run -0 dlock --version
  [[ "$output" =~ ^dlock\ [0-9]+\.[0-9]+ ]]
  run -0 dlock -V
}

@test "typos: the nearest name is suggested, nothing is run by guess" {
  run -64 dlock rnu k -- touch ran
  [[ "$output" == *run* ]]
  run -64 dlock run --shraed k -- touch ran
  [[ "$output" == *--shared* ]]
  run -64 dlock run --on-lost kil k -- touch ran
  [[ "$output" == *kill* ]]
  run -64 dlock run --progress alwys k -- touch ran
  [[ "$output" == *always* ]]
  printf '[backend.production]\nurl = "local:"\n' >own.toml
  run dlock -C own.toml run -b prodution k -- touch ran
  [ "$status" = 64 ] || [ "$status" = 78 ]
  [[ "$output" == *production* ]]
  run dlock run -b rediss:/x k -- touch ran
  [ "$status" = 64 ] || [ "$status" = 78 ]
  run -78 dlock run -b "$DLOCK_BACKEND?allow-network-f=yes" k -- touch ran
  [[ "$output" == *allow-network-fs* ]]
  [ ! -e ran ]
}

@test "secrets: a password in a URL is never printed back, and the command line warns" {
  local url=redis://me:s3cr3t-w0rd@localhost:1/0 words all=''
  for words in "run k -- env" "-v run k -- env" "run --json k -- true" "inspect k" "doctor" "doctor --json" "ping" "config show" "config check" "setup" \
    "acquire --ttl 1m k" "hold k" "wait k" "force-release --yes k" "--log-format json -vv run k -- true" "run -b $url --fallback $url k -- true"; do
    # shellcheck disable=SC2086
    all+=$(DLOCK_BACKEND=$url dlock $words 2>&1 </dev/null || true)
  done
  all+=$(dlock -b "$url" run k -- true 2>&1 || true)
  all+=$(DLOCK_PASSWORD=s3cr3t-w0rd dlock -b redis://localhost config show 2>&1 || true)
  printf '[backend.r]\nurl = "%s"\n' "$url" >own.toml
  all+=$(dlock -C own.toml -b r config show 2>&1; dlock -C own.toml -b r run k -- true 2>&1 || true)
  [[ "$all" == *redis* ]]
  [[ "$all" != *s3cr3t* ]]
  run dlock -b "$url" run k -- true
  [[ "$output" == *ps* ]]
}

@test "secrets: a password file that others can read is refused" {
  echo pw >secret
  chmod 644 secret
  printf '[backend.r]\nurl = "redis://localhost"\npassword-file = "%s"\n' "$PWD/secret" >own.toml
  run -78 dlock -C own.toml -b r run k -- true
  [[ "$output" == *secret* && "$output" != *pw* ]]
}

@test "secrets: a configuration file with a password that others can read is 77 with the remedy; doctor says fail" {
  echo '[backend.b]
url = "redis://u:hunter2@127.0.0.1:1"' >c.toml
  chmod 644 c.toml
  local words
  for command in "run k -- touch ran" "inspect k" "config show" "config check"; do
    read -ra words <<<"$command"
    run -77 dlock -C "$PWD/c.toml" "${words[@]}"
    [[ "$output" == *"c.toml:2 holds a password"*"mode 0644"*"chmod 600 $PWD/c.toml"* ]]
    [[ "$output" != *hunter2* ]]
  done
  run -77 dlock -C "$PWD/c.toml" doctor -b "$DLOCK_BACKEND"
  [[ "$output" == *"fail  $PWD/c.toml:2 holds a password"*"chmod 600 $PWD/c.toml"*"locks work"* ]]
  [ ! -e ran ]
  chmod 600 c.toml
  run -0 dlock -C "$PWD/c.toml" run k -- true
}

@test "secrets: somebody else's configuration file is refused with a password, and left out when it was only found" {
  [ "$(id -u)" = 0 ] || skip "needs root to give files away"
  mkdir -p .config/dlock
  local file=$PWD/.config/dlock/config.toml
  echo 'default-backend = "redis://127.0.0.1:1"' >"$file"
  chown 65534:65534 "$file"
  run -0 env -u DLOCK_BACKEND HOME="$PWD" dlock run -b "$DLOCK_BACKEND" k -- true
  [[ "$output" == *"$file is left out: it belongs to user 65534"*"--config $file"* ]]
  run -0 env -u DLOCK_BACKEND HOME="$PWD" dlock config show
  [[ "$output" != *127.0.0.1* ]]
  run -0 env -u DLOCK_BACKEND XDG_CONFIG_HOME="$PWD/.config" dlock doctor -b "$DLOCK_BACKEND"
  [[ "$output" == *"warn  the configuration $file is left out"* ]]
  run -69 env -u DLOCK_BACKEND dlock -C "$file" run -n --connect-timeout 1s k -- touch ran
  echo 'default-backend = "redis://:hunter2@127.0.0.1:1"' >"$file"
  chmod 600 "$file"
  run -77 env -u DLOCK_BACKEND dlock -C "$file" run k -- touch ran
  [[ "$output" == *"belongs to user 65534"*chown* ]]
  [ ! -e ran ]
}

@test "color: auto is plain in a pipe, always colours, NO_COLOR and TERM=dumb are obeyed" {
  hold_lock k
  run -0 dlock inspect k
  [[ "$output" != *$'\e['* ]]
  run -0 dlock inspect --color=always k
  [[ "$output" == *$'\e['* ]]
  run -0 terminal -- dlock inspect k
  [[ "$output" == *$'\e['* ]]
  run -0 terminal -- env NO_COLOR=1 dlock inspect k
  [[ "$output" != *$'\e['* ]]
  run -0 terminal -- env TERM=dumb dlock inspect k
  [[ "$output" != *$'\e['* ]]
  run -0 terminal -- dlock --color=never inspect k
  [[ "$output" != *$'\e['* ]]
}

@test "log: --log-format json is one object a line; -q is silent about being busy" {
  hold_lock k
  run -75 --separate-stderr dlock --log-format json run -n k -- true
  jq -es --arg pid "$holder" 'length == 1 and (.[0] | .event == "busy" and .level == "error" and .key == "k" and .holder.pid == ($pid | tonumber)
    and (.time | fromdateiso8601? // (.[0:19] + "Z" | fromdateiso8601)) > 0)' <<<"$stderr"
  run -75 --separate-stderr dlock --log-format json run --progress always -w 200ms k -- true
  jq -es --arg pid "$holder" 'map(.event) == ["waiting", "busy"] and all(.[]; .key == "k" and .holder.pid == ($pid | tonumber))' <<<"$stderr"
  run -64 --separate-stderr dlock --log-format json run -n --nonsense k -- true
  jq -es 'length == 1 and .[0].event == "invalid" and .[0].key == null' <<<"$stderr"
  run -64 --separate-stderr dlock run --nonsense k -- true --log-format=json
  [[ $stderr == "dlock: "* ]]
  run -75 dlock -q run -n k -- true
  [ "$output" = "" ]
  run -64 dlock -q run -n --nonsense k -- true
  [ "$output" != "" ]
}

@test "progress: without a terminal one plain line after a second, and none with --progress never" {
  hold_lock -m 'long job' k
  run -75 dlock run -w 1.3 k -- true
  [ "$(grep -c 'waiting for k' <<<"$output")" = 1 ]
  [[ "$output" == *"pid $holder"* ]]
  [[ "$output" != *$'\r'* ]]
  run -75 dlock run --progress never -w 1.3 k -- true
  [[ "$output" != *"waiting for"* ]]
  run -75 dlock run --progress always -w 0.2 k -- true
  [[ "$output" == *"waiting for k"* ]]
}

@test "progress: on a terminal one line, erased before CMD starts" {
  hold_lock k
  run -0 terminal 'expect:next in line, 0 s of 1 min - held by [^ ]+ .pid [0-9]+. for' "run:dlock force-release --yes k" -- dlock run -w 1m k -- echo started
  [[ "$output" == *"next in line, "*$'\r\e[K'"started"* ]]
}

@test "progress: ^C wipes the line, with what the terminal wrote behind it" {
  hold_lock --reason "a reason that is cut off where the line ends, and that is longer than its 80 columns" k
  run -130 terminal 'expect:in line' 'send:\x03' -- dlock run k -- true
  [[ "$output" == *"…"*"^C"*$'\r\e[K' ]]
  longest=$(tr '\r' '\n' <<<"$output" | sed 's/\x1b\[K//g' | wc -L)
  [ "$longest" -le 79 ]
}

@test "a reason of 256 bytes is told whole, here as by servers" {
  reason=$(printf '%0256d' 0)
  start_watched run dlock run --reason "$reason" k -- sleep 100
  wait_until is_held k
  [ "$(holder_field k reason)" = "$reason" ]
  [ "$(holder_field k command)" = sleep ]
  run -75 dlock run -n k -- true
  [[ "$output" == *" (sleep, pid $(cat run.pid)) for "* ]]
  run -0 dlock force-release --yes --reason "$reason" k
  [ "$(how_ended run)" = "exit 79" ]
}

@test "output that cannot be written is an error of those commands that only print" {
  local words
  for words in "inspect k" "inspect --json k" "help" "--version" "config show" "completion bash" "doctor" "ping"; do
    # shellcheck disable=SC2086
    run bash -c "dlock $words >/dev/full"
    [ "$status" = 71 ]
  done
}

@test "misuse of the other commands is 64" {
  local words
  for words in "hold" "wait" "release k" "renew k" "force-release" "check" "fence db" "hold ''" "completion" "config" "config foo" "inspect --nonsense" "gc k" "ping k"; do
    run bash -c "dlock $words </dev/null"
    [ "$status" = 64 ] || { echo "dlock $words: $status" >&2; return 1; }
  done
}
