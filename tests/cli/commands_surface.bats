# SPDX-License-Identifier: Apache-2.0
# What all commands have in common: settings, help, completion, mistakes, secrets, colours, messages and progress.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }

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
  complete_line dlock stock ba | grep -x 'batch *'
  hold_lock -- -dash
  complete_line dlock inspect '' >words
  [[ "$(cat words)" != *-dash* ]]
}

@test "help: for every command, on stdout, with status 0" {
  run -0 --separate-stderr dlock help
  [ "$stderr" = "" ]
  [[ "$output" == *"dlock run"* ]]
  local command
  for command in run hold acquire renew release wait inspect force-release check fence doctor ping setup gc bench config completion help; do
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
  export DLOCK_CONNECT_TIMEOUT=100ms
  for words in "run k -- env" "-v run k -- env" "run --json k -- true" "inspect k" "doctor" "doctor --json" "ping" "config show" "config check" "setup" \
    "acquire --ttl 1m k" "hold k" "wait k" "force-release --yes k" "--log-format json -v run k -- true" "run -b $url --fallback $url k -- true"; do
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

@test "secrets: a password file that others can write is refused" {
  echo pw >secret
  chmod 666 secret
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
  [[ "$output" == *"$file is ignored: it belongs to user 65534"*"--config $file"* ]]
  run -0 env -u DLOCK_BACKEND HOME="$PWD" dlock config show
  [[ "$output" != *127.0.0.1* ]]
  run -0 env -u DLOCK_BACKEND XDG_CONFIG_HOME="$PWD/.config" dlock doctor -b "$DLOCK_BACKEND"
  [[ "$output" == *"warn  the configuration $file is ignored"* ]]
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
  [[ "$output" == *" (sleep, pid $(pgrep -P "$(cat run.pid)" -x sleep)) for "* ]]
  run -0 dlock force-release --yes --reason "$reason" k
  [ "$(how_ended run)" = "exit 79" ]
}

# bats test_tags=all
@test "output that cannot be written is an error of those commands that only print" {
  local words
  for words in "inspect k" "inspect --json k" "help" "--version" "config show" "completion bash" "doctor" "ping"; do
    run -71 bash -c "dlock $words >/dev/full"
    run -71 bash -c "ulimit -f 0 && exec dlock $words >file"
  done
  run -64 bash -c 'ulimit -f 0 && exec dlock nonsense 2>file'
}

@test "a stdout that is closed, or not for writing, is an error, before anything is taken" {
  local words to
  dlock stock create --quantity 5 phone
  for to in '>&-' '1</dev/null'; do
    for words in "inspect k" "inspect --json k" "inspect --watch" "help" "--version" "config show" "completion bash" doctor ping metrics "stock show phone" \
      "acquire --ttl 5m k" "hold k" "stock take phone" "stock batch phone <<<'take a'" "bench --count 1"; do
      run timeout "$patience" bash -c "dlock $words $to"
      [ "$status" = 71 ] && [[ "$output" == "dlock: cannot write to stdout: "* || "$words $output" == *--json*'"message":"cannot write to stdout: '* ]] || { echo "dlock $words $to: $status $output" >&2; return 1; }
    done
    run -0 bash -c "dlock run k -- sh -c '{ echo >&1; } 2>/dev/null || touch closed' $to"
    rm closed
    for words in "force-release --yes k" "gc" "setup"; do # they do their work all the same
      run -71 bash -c "dlock $words $to"
      [[ "$output" == "dlock: cannot write to stdout: it is closed, "*"it was done, but its output is lost"* ]]
    done
  done
  is_free k
  [ "$(dlock stock show --json phone | jq .total)" = 5 ]
  run -0 bash -c 'dlock wait k >&-; dlock fence db 1 -- true >&-'
}

@test "misuse of the other commands is 64" {
  local words
  for words in "hold" "wait" "release k" "renew k" "force-release" "check" "fence db" "hold ''" "completion" "config" "config foo" "inspect --nonsense" "gc k" "ping k"; do
    run bash -c "dlock $words </dev/null"
    [ "$status" = 64 ] || { echo "dlock $words: $status" >&2; return 1; }
  done
}
