# SPDX-License-Identifier: Apache-2.0
# What dlock says about mistakes, as a table: each row a command, its exit status, and what stands on stderr or must not.
load ../support/cli
load ../support/redis

setup() { set_world; }
teardown() { end_world; }

# says STATUS [TEXT | !TEXT]... -- COMMAND...: its status, and that its stderr has each TEXT and no !TEXT. Nothing is run.
says() {
  local wanted=$1 text texts=()
  shift
  while [ "$1" != -- ]; do
    texts+=("$1")
    shift
  done
  shift
  run "-$wanted" --separate-stderr timeout 20 "$@" || { printf 'row: %s\n%s\n' "$*" "$stderr"; return 1; }
  printf 'row: %s\n%s\n' "$*" "$stderr"
  for text in "${texts[@]}"; do
    if [[ $text == !* ]]; then
      [[ $stderr != *"${text#!}"* ]] || { echo "must not be there: ${text#!}"; return 1; }
    else
      [[ $stderr == *"$text"* ]] || { echo "missing: $text"; return 1; }
    fi
  done
  [ ! -e ran ]
}

# The same, in one of ten attempts: a majority that has refused is not waited for longer than 100 ms, and a machine at work
# may need longer for the answer of the others.
says_at_last() {
  local _
  for _ in {1..10}; do
    if says "$@"; then return; fi
  done
  return 1
}

@test "memory that is not allowed is no bug: 71, with the limits" {
  yes '{"schema":"dlock.event/1","time":"2026-11-25T10:00:00.000Z","event":"granted","key":"k","store":"local:","owner":"abc","token":1,"pid":1}' |
    head -n 200000 >events
  run -71 bash -c 'ulimit -v 30000; exec dlock history --events ./events k'
  [[ "$output" == "dlock: out of memory: it may use 29 MiB"*"ulimit -v"* ]]
}

@test "the command line: a key, a -- or a word is missing, or stands in the wrong place" {
  says 64 'no KEY given before --' 'dlock run KEY -- true' -- dlock run -- true
  says 64 'no command to run' '!no KEY' -- dlock run -- -k
  says 127 "cannot run 'b-two'" 'several keys need --: dlock run -c STR a b-two --' -- dlock run a b-two -c 'touch ran'
  says 64 "unknown command 'deploy'" 'under a lock: dlock -q run deploy -- touch ran' -- dlock -q deploy -- touch ran
  says 64 'write it before the key: dlock run -n deploy -- touch ran' -- dlock run deploy -n -- touch ran
  says 64 'dlock -q run -n -w 10 deploy b -- touch '"'a b'" -- dlock -q run deploy -n b -w 10 -- touch 'a b'
  says 64 'dlock run --wait=5 deploy touch ran' -- dlock run deploy --wait=5 touch ran
  says 64 'dlock run -w 10 deploy touch ran' -- dlock run deploy -w 10 touch ran
  says 64 'dlock run -b redis://...' '!hunter2' -- dlock run k -b redis://u:hunter2@h -- touch ran
  says 64 "the TOKEN is missing after 'k'" 'KEY TOKEN' -- dlock check k
  says 64 "the TOKEN is missing after 'disk'" 'RESOURCE TOKEN' -- dlock fence disk
  says 64 "has no 'tcsh'" 'it has bash, zsh, fish' -- dlock completion tcsh
  says 64 "has no 'shwo'" 'it has show, check' -- dlock config shwo
}

@test "a command that is not there: where it was looked for, and what may have been meant" {
  says 127 "there is no ./charge-card in $PWD" '!KEY' -- dlock run k -- ./charge-card
  says 127 'there is no /nowhere/charge-card' '! in /' '!KEY' -- dlock run k /nowhere/charge-card
  says 127 "if 'b-two' is a KEY, several keys need --: dlock run a b-two -- true" -- dlock run a b-two true
  says 127 "cannot run 'b-two': command not found" '!KEY' -- dlock run a -- b-two true
  says 127 "needs -c: dlock run k -c 'echo hi'" '!KEY' -- dlock run k -- 'echo hi'
  says 127 "needs -c: dlock run k -c 'cd /tmp'" -- dlock run k -- cd /tmp
  says 127 "needs -c: dlock stock run p -c 'cd /tmp'" -- dlock stock run p -- cd /tmp
  says 127 "cannot run 'nope'" '!KEY' -- dlock stock run p -- nope
  says 127 "needs -c: dlock run 'a b' -c" -- dlock run 'a b' -- 'touch ran && true'
}

@test "a word too many is taken for a value, or belongs to another command" {
  says 64 "no KEY given before --: -E took 'deploy' as its value" 'dlock run -E N deploy -- true' -- dlock run -E deploy -- true
  says 64 "-E took 'deploy' as its value: write -E N" -- dlock run -E deploy k -- true
  says 64 "--wait took 'k' as its value" 'dlock run --wait D k -- true' -- dlock run --wait k -- true
  says 64 'takes a lock and runs nothing' 'dlock run k -- CMD' -- dlock acquire --ttl 1m k -- true
  says 64 "another's lock: dlock force-release k" -- dlock release k
  says 64 "needs show or check" -- dlock config
  says 64 "did you mean 'journald'?" -- dlock run --events jornald k -- touch ran
  says 64 "for a file of that name write ./k.log" -- dlock run --events k.log k -- touch ran
  run -64 --separate-stderr dlock ping x
  [[ $stderr != *' '$'\n'* && $stderr != *' ' ]]
}

# The command that the last output ends with.
advised() {
  sed -n 's/.*: \(dlock [a-z].*\)$/\1/p' <<<"$output" | tail -n 1
}

@test "a command that is advised can be pasted into a shell, whatever the key" {
  local key
  for key in 'a b' "it's" 'say "x"' '$HOME `id`' -dash $'\u00e9 \U1F512' 'ci/*' '~' '# c'; do
    run -79 dlock check -- "$key" 5
    run -0 bash -c "$(advised)"
    [[ "$output" == *"$key"* ]]
    hold_lock -- "$key"
    run -75 dlock run -n -- "$key" -- true
    run -0 bash -c "$(advised)"
    [[ "$output" == "$key  held, exclusive"* ]]
    run -64 dlock force-release -- "$key"
    run -0 bash -c "$(advised)"
    [[ "$output" == *"$key is free now"* ]]
    let_go || [ $? = 79 ]
  done
  mkdir -m 757 'open to all'
  run -78 dlock run -b "local:$PWD/open to all" k -- true
  run -0 bash -c "$(tail -n 1 <<<"$output")"
  run -0 dlock run -b "local:$PWD/open to all" k -- true
}

@test "what other tools call a command is answered with the command, and not executed" {
  says 64 "unknown command 'lock'" 'dlock run KEY -- CMD' -- dlock lock k touch ran
  says 64 "unknown command 'status'" 'dlock inspect' -- dlock status k
  says 64 "unknown command 'break'" 'dlock force-release KEY' -- dlock break --yes k
  says 64 "unknown command 'verify'" 'it is a program of the tests, in the source of dlock' -- dlock verify --duration 1s
  says 64 "unknown option '--try'" '-n' -- dlock run --try k -- touch ran
}

@test "lines of flock(1) and consul: --timeout is --wait, a key too many asks, a descriptor is told of acquire" {
  hold_lock k
  says 75 'gave up' -- dlock run --timeout 0.1 k -- touch ran
  says 75 'gave up' -- dlock run --timeout=0.1 k -- touch ran
  let_go || [ $? = 79 ]
  says 64 'two: --timeout=15s' -- dlock run -timeout=15s k -- touch ran
  says 64 'two: --timeout=15s' -- dlock -timeout=15s k touch ran
  says 64 'write: dlock run -n file touch ran' -- dlock -n file touch ran
  says 127 "cannot run 'deploy'" '-n takes no number' 'dlock run --permits 3 deploy -- CMD' -- dlock run -n 3 deploy
  says 127 "if 'b-two' is a KEY, too" 'dlock run a b-two -- CMD' -- dlock run a b-two
  local line='eval "$(dlock acquire --shell --watch-pid $$ KEY)" || exit'
  says 64 "$line" -- dlock -n 9
  says 64 "$line" -- dlock run -n 9
  run -75 bash -c "${line//KEY/k}; env -u DLOCK_HELD dlock run -n k -- touch ran"
  run -0 dlock run -w 5 k -- true
}

@test "durations: what was meant, or the character that is wrong" {
  says 64 "did you mean '10min'?" -- dlock run -w '10 min' k -- touch ran
  says 64 "did you mean '10m'?" -- dlock run -w 10M k -- touch ran
  says 64 "did you mean '90s'?" -- dlock run -w 90seconds k -- touch ran
  says 64 "did you mean '1h30m'?" -- dlock run -w '1 hour 30 minutes' k -- touch ran
  says 64 "did you mean '1.5h'?" -- dlock run -w 1,5h k -- touch ran
  says 64 "character 2 is ':'" '1m30s' '!did you mean' -- dlock run -w 1:30 k -- touch ran
  says 64 "unknown unit 'x'" '!did you mean' -- dlock run -w 10x k -- touch ran
}

@test "backends: a name without a section, a host without a scheme, a URL without its database" {
  says 64 'there is no [backend.prod]' 'dlock/config.toml' 'redis://' '!has no scheme' -- dlock run -b prod k -- touch ran
  printf '[backend.main]\nurl = "redis://h"\n' >dlock.toml
  says 64 'there is no [backend.prod]' "read: $PWD/dlock.toml" 'one of those configured: main' \
    -- dlock run -C "$PWD/dlock.toml" -b prod k -- touch ran
  says 64 "did you mean 'main'?" -- dlock run -C "$PWD/dlock.toml" -b mian k -- touch ran
  says 64 "did you mean 'redis://127.0.0.1:7391'?" -- dlock run -b 127.0.0.1:7391 k -- touch ran
  says 64 "did you mean 'redis://127.0.0.1:6379'?" -- dlock run -b 127.0.0.1:6379 k -- touch ran
  says 64 "did you mean 'zk://h:2181'?" -- dlock run -b h:2181 k -- touch ran
  says 64 "did you mean 'redis://db.example.org'?" -- dlock run -b db.example.org k -- touch ran
  says 64 'the database is missing' 'mysql://[user[:password]@]host1[:port],host2[:port]/DB' \
    -- dlock run -b mysql://host k -- touch ran
}

# file_says TEXT... -- LINE...: what a configuration of these lines is refused with.
file_says() {
  local texts=()
  while [ "$1" != -- ]; do
    texts+=("$1")
    shift
  done
  shift
  printf '%s\n' "$@" >dlock.toml
  says 78 "${texts[@]}" -- dlock run -C "$PWD/dlock.toml" k -- touch ran
}

@test "configuration files: where a key belongs, and how a value is written" {
  file_says ":2:1: unknown key 'default-backend' in [defaults]" 'it belongs at the top' \
    -- '[defaults]' 'default-backend = "local:"'
  file_says ":3:1: unknown key 'wait' in [backend.x]" 'it belongs below the line [defaults]' \
    -- '[backend.x]' 'url = "redis://h"' 'wait = "10m"'
  file_says ':2:' 'write wait = "10m"' -- '[defaults]' 'wait = 10m'
  file_says ':2:' 'write on-lost = "kill"' -- '[defaults]' ' on-lost = kill # at once'
  file_says ':2:' 'write fair = true' -- '[defaults]' 'fair = yes'
  file_says ':1:' 'write [key."deploy/prod"]' -- '[key.deploy/prod]' 'wait = 5'
  printf '%s\n' '[backend.x]' >dlock.toml
  says 78 ':1:' '[backend.x] has no url' 'add url = "redis://host"' -- dlock run -C "$PWD/dlock.toml" -b x k -- touch ran
  run -78 dlock config check -C "$PWD/dlock.toml"
  [[ "$output" == *'dlock.toml:1:'*'[backend.x] has no url'* ]]
  # What is advised is right, typed as it stands.
  printf '%s\n' '[defaults]' 'fair = true' '[key."deploy/prod"]' 'wait = 5' '[backend.x]' 'url = "redis://host"' >dlock.toml
  run -0 dlock config check -C "$PWD/dlock.toml"
  file_says ':2:' '!hunter2' -- '[backend.x]' 'password = hunter2'
}

@test "every page of help fits into 80 columns, and --help may stand before the command" {
  local page pages=('')
  for page in $(dlock __complete help ''| cut -f 1); do pages+=("$page"); done
  for page in $(dlock __complete stock '' | cut -f 1); do pages+=("stock $page"); done
  [ "${#pages[@]}" -gt 25 ]
  for page in "${pages[@]}"; do
    # shellcheck disable=SC2086 # words
    run awk -v page="$page" 'length($0) > 80 { print page ": " $0 }' <(dlock help $page)
    [ "$output" = "" ]
  done
  diff <(dlock --help run) <(dlock help run)
  diff <(dlock -q --help stock take) <(dlock help stock take)
  says 64 "'dlock run' has no option --json" '!it belongs to' -- dlock run --json k -- touch ran
}

@test "help explains one action of stock, and so does its --help" {
  run -0 dlock help stock take
  [[ $output == 'usage: dlock stock take [OPTION...] NAME'* && $output == *--qty* && $output != *--quantity* ]]
  local text=$output
  run -0 dlock stock take --help
  [ "$output" = "$text" ]
  run -0 dlock stock --help
  [[ $output == *"rebalance NAME"* ]]
  says 64 "did you mean 'take'?" -- dlock help stock taek
  says 64 "did you mean 'run'?" -- dlock --help runn
  says 64 'explains one command' -- dlock help run it
}

@test "stock: the nearest name, and an empty stock is said to be one" {
  says 0 "stock 'phone' is empty" 'dlock stock add --qty N phone' -- dlock stock create phone --quantity 0
  says 78 "there is no stock 'phoen'" "did you mean 'phone'?" -- dlock stock show phoen
  says 78 "did you mean 'phone'?" -- dlock stock take phoen
  says 78 "did you mean 'phone'?" -- dlock stock run phoen -- true
  says 78 "did you mean 'phone'?" -- dlock stock add phoen --qty 1
  says 78 'dlock stock create --quantity N --segments S zzz' '!did you mean' -- dlock stock show zzz
}

@test "stock: the words of other shops, and a quantity or an id without its option" {
  says 64 'dlock stock show [NAME]' -- dlock stock list
  says 64 'dlock stock take NAME --qty Q --id ID' -- dlock stock reserve phone
  says 64 'dlock stock refund NAME --id ID' '!did you mean' -- dlock stock cancel phone
  says 64 'dlock stock drop NAME --yes' -- dlock stock rm phone
  says 64 '--quantity N' -- dlock stock create phone --items 10
  says 64 'write: dlock stock take --qty 2 phone' -- dlock stock take phone 2 --id a
  says 64 'write: dlock stock create --quantity 10 phone' -- dlock stock create phone 10
  says 64 'write: dlock stock refund --id order-1 phone' -- dlock stock refund phone order-1
  says 64 'usage: dlock stock drop NAME --yes' -- dlock stock drop phone 2 --yes
  says 64 'write: dlock stock take --qty 2 -- -x' -- dlock stock take -- -x 2
  says 78 'dlock stock create --quantity N --segments S -- -x' -- dlock stock show -- -x
}

@test "an unknown host is called one, on every store" {
  local url none=no..invalid # the resolver refuses a name with an empty part by itself, and asks no DNS
  for url in "redis://$none" "tair://$none" "zk://$none" "mysql://u@$none/d" "redis+cluster://$none"; do
    says 69 'there is no host with that name' '!timed out' '!doctor' -- dlock run -n -b "$url" k -- touch ran
    # A cluster is asked again until the time is over, and the last attempt may be cut short.
    [[ $url == redis+cluster:* ]] || says 69 'there is no host with that name' -- dlock inspect -b "$url" k
  done
}

@test "a program that lies beside dlock is found where there is no /proc, as in a bare chroot" {
  mounts_apart || skip "no right to mount"
  local url
  for url in redis://127.0.0.1:1 zk://127.0.0.1:1; do
    says 69 "cannot reach" '!not installed' -- "${apart[@]}" sh -c "mount -t tmpfs none /proc && exec dlock run -n -b $url k -- touch ran"
  done
}

@test "who is sent to the doctor is told the whole command, and inside the doctor there is a remedy" {
  says 69 'dlock doctor -b zk://127.0.0.1:1' -- dlock run -n -b zk://127.0.0.1:1 k -- touch ran
  printf '[backend.far]\nurl = "zk://127.0.0.1:1"\n' >dlock.toml
  says 69 "dlock doctor -b far -C $PWD/dlock.toml" -- dlock run -n -C "$PWD/dlock.toml" -b far k -- touch ran
  DLOCK_BACKEND=zk://127.0.0.1:1 says 69 'dlock doctor' '!-b' -- dlock run -n k -- touch ran
  run -69 dlock doctor -b zk://127.0.0.1:1
  [[ $output == *"that it runs"*"man dlock-zookeeper"* && $output != *"dlock doctor"* ]]
}

@test "RedLock: how many servers were asked, how many answer, and why the others do not" {
  start_redis one
  use "redlock://127.0.0.1:$(port_of one),127.0.0.1:1,127.0.0.1:2"
  local answer='3 servers asked, 1 answers'
  says_at_last 69 "$answer" '2 are needed' '127.0.0.1:2: connection refused' '!no answer in time' '!know the lock' \
    -- dlock inspect k
  says_at_last 69 "$answer" '!no answer in time' -- dlock run -n k -- touch ran
}

@test "a foreign key without a TTL is not worth waiting for" {
  start_redis one
  redis_cli one set k foreign
  use "$(redis_url one)"
  says 75 'it never ends by itself' 'dlock force-release k' '!wait for it' -- dlock run -n k -- touch ran
  says 75 "dlock force-release -b $DLOCK_BACKEND k" -- dlock run -n -b "$DLOCK_BACKEND" k -- touch ran
  redis_cli one pexpire k 600000
  says 75 'wait for it with --wait' '!never ends' -- dlock run -n k -- touch ran
}

@test "a keeper program that is missing is named, with where it was looked for and its package" {
  mkdir -p prefix/bin
  cp "$DLOCK" prefix/bin/dlock
  says 78 'there is no dlock-redis in' "$PWD/prefix/" 'apt install dlock-redis' \
    -- prefix/bin/dlock run -b redis://127.0.0.1:1 k -- touch ran
  says 78 'there is no dlock-local in' 'apt install dlock' -- prefix/bin/dlock stock create phone --quantity 3
}

@test "who loses a lock to an operator reads who freed it, and why" {
  local url
  start_redis one
  for url in "$DLOCK_BACKEND" "$(redis_url one)"; do
    use "$url"
    start_watched loser sh -c 'exec dlock run --ttl 2s k -- sleep 60 2>said'
    wait_until is_held k
    dlock force-release --yes --reason 'hangs since 2.4' k
    [ "$(how_ended loser)" = "exit 79" ]
    cat said
    grep -qF "LOST k: force-released by $(id -un)@$(uname -n): hangs since 2.4" said
    rm -f loser
  done
}
