# SPDX-License-Identifier: Apache-2.0
# What dlock says about mistakes, as a table: each row a command, its exit status, and what stands on stderr or must not.
load ../support/cli

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

@test "the command line: a key, a -- or a word is missing, or stands in the wrong place" {
  says 64 'there is no KEY in front of --' 'dlock run KEY -- true' -- dlock run -- true
  says 64 'no command to run' '!no KEY' -- dlock run -- -k
  says 127 "cannot run 'b-two'" 'several keys need --: dlock run -c STR a b-two --' -- dlock run a b-two -c 'touch ran'
  says 64 'write it before the key: dlock run -n deploy -- touch ran' -- dlock run deploy -n -- touch ran
  says 64 'dlock -q run -n -w 10 deploy b -- touch '"'a b'" -- dlock -q run deploy -n b -w 10 -- touch 'a b'
  says 64 'dlock run --wait=5 deploy touch ran' -- dlock run deploy --wait=5 touch ran
  says 64 'dlock run -w 10 deploy touch ran' -- dlock run deploy -w 10 touch ran
  says 64 'dlock run -b redis://...' '!hunter2' -- dlock run k -b redis://u:hunter2@h -- touch ran
  says 64 "the TOKEN is missing behind 'k'" 'KEY TOKEN' -- dlock check k
  says 64 "the TOKEN is missing behind 'disk'" 'RESOURCE TOKEN' -- dlock fence disk
  says 64 "has no 'tcsh'" 'there are bash, zsh, fish' -- dlock completion tcsh
  says 64 "has no 'shwo'" 'there are show, check' -- dlock config shwo
}

@test "--timeout could mean two things, and is refused with both" {
  says 64 'could limit the wait for the lock, or CMD' '--wait D' 'timeout D CMD' -- dlock run --timeout 5 k -- touch ran
  says 64 '--wait D' -- dlock run --timeout=5 k -- touch ran
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
  says 64 'there is no [backend.prod]' "read: $PWD/dlock.toml" 'one of the configured: main' \
    -- dlock run -C "$PWD/dlock.toml" -b prod k -- touch ran
  says 64 "did you mean 'main'?" -- dlock run -C "$PWD/dlock.toml" -b mian k -- touch ran
  says 64 "did you mean 'redis://127.0.0.1:7391'?" -- dlock run -b 127.0.0.1:7391 k -- touch ran
  says 64 "did you mean 'zk://h:2181'?" -- dlock run -b h:2181 k -- touch ran
  says 64 "did you mean 'redis://db.example.org'?" -- dlock run -b db.example.org k -- touch ran
  says 64 'the database is missing' 'mysql://[user[:password]@]host1[:port],host2[:port]/DB' \
    -- dlock run -b mysql://host k -- touch ran
}

@test "configuration files: where a key belongs, and how a value is written" {
  file_says ":2:1: unknown key 'default-backend' in [defaults]" 'it belongs at the top' \
    -- '[defaults]' 'default-backend = "local:"'
  file_says ":3:1: unknown key 'wait' in [backend.x]" 'it belongs below the line [defaults]' \
    -- '[backend.x]' 'url = "redis://h"' 'wait = "10m"'
  file_says ':2:' 'write wait = "10m"' -- '[defaults]' 'wait = 10m'
  file_says ':2:' 'write on-lost = "kill"' -- '[defaults]' ' on-lost = kill # at once'
  file_says ':2:' '!hunter2' -- '[backend.x]' 'password = hunter2'
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
  says 64 'explains one command' -- dlock help run it
}

@test "stock: the nearest name, and an empty stock is said to be one" {
  says 0 "stock 'phone' is empty" 'dlock stock add phone --qty N' -- dlock stock create phone --quantity 0
  says 78 "there is no stock 'phoen'" "did you mean 'phone'?" -- dlock stock show phoen
  says 78 "did you mean 'phone'?" -- dlock stock take phoen
  says 78 "did you mean 'phone'?" -- dlock stock add phoen --qty 1
  says 78 'dlock stock create zzz' '!did you mean' -- dlock stock show zzz
}
