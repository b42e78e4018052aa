# SPDX-License-Identifier: Apache-2.0
# ZooKeeper as a user meets it, with the servers of scripts/start-test-servers: what can be written in the URL, what every
# command answers, and what is said when something is not right.
load ../support/cli
load ../support/zookeeper
load ../support/zookeeper_peers

setup() {
  set_world
  need_servers
  # Several runs may share the servers.
  key=cli-$$-$BATS_TEST_NUMBER
  use "$DLOCK_TEST_ZK"
}
teardown() { end_world; }

use() { export DLOCK_BACKEND=$1; } # URL
# kazoo, at the shared server.
kazoo_there() {
  mkdir -p "$servers/shared"
  echo "${DLOCK_TEST_ZK##*:}" >"$servers/shared/port"
  kazoo "$1" shared
}

# What holds for every URL: a command runs, excludes, is seen, gives back.
locks_and_excludes() { # KEY [OPTION...]
  rm -f waiter* waited
  run -7 --separate-stderr dlock run "${@:2}" "$1" -- sh -c 'echo "$DLOCK_STORE $DLOCK_TOKEN"; exit 7'
  [ "$stderr" = "" ]
  [[ "$output" =~ ^zk://[^\ ]+\ [0-9]+$ ]]
  local token=${output##* }
  hold_lock "${@:2}" "$1"
  [ "$holder_token" -gt "$token" ]
  run -75 dlock run -n "${@:2}" "$1" -- touch ran
  [[ "$output" == *"$1 is held by"* || "$output" == *"$1 has 1 of 1 permits held, by"* ]]
  [ "$(count holders "$1")" = 1 ]
  start_watched waiter dlock run -q "${@:2}" "$1" -- touch waited
  # What is not queued cannot be seen waiting.
  [[ "$DLOCK_BACKEND" == *=simple ]] || wait_until has 1 waiters "$1"
  [ ! -e waited ]
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
  [ -e waited ]
  [ ! -e ran ]
  is_free "$1"
}

@test "every recipe runs, excludes, is seen, gives back" {
  local recipe
  for recipe in curator rw semaphore-mutex kazoo simple; do
    echo "$recipe"
    use "$DLOCK_TEST_ZK?recipe=$recipe"
    locks_and_excludes "$key-$recipe"
  done
  use "$DLOCK_TEST_ZK"
  locks_and_excludes "$key-permits" --permits 1
}

@test "what a recipe cannot do is refused with 78, and said" {
  local recipe
  for recipe in semaphore-mutex simple; do
    run -78 dlock run -n --shared -b "$DLOCK_TEST_ZK?recipe=$recipe" "$key" -- touch ran
    [[ "$output" == *"$recipe"* ]]
  done
  for recipe in rw semaphore-mutex kazoo simple; do
    run -78 dlock run -n --permits 2 -b "$DLOCK_TEST_ZK?recipe=$recipe" "$key" -- touch ran
    [[ "$output" == *"$recipe"* ]]
  done
  for recipe in bridge mutex semaphore kazoo-lock kazoo-rw kazoo-semaphore; do
    run -78 dlock run -n -b "$DLOCK_TEST_ZK?recipe=$recipe" "$key" -- touch ran
    [[ "$output" == *"recipe cannot be '$recipe'"*curator* ]] || [[ "$output" == *"did you mean"* ]]
  done
  [ ! -e ran ]
}

@test "a folder in the URL: the locks lie there, and are others than those at the top" {
  kazoo_there k
  use "$DLOCK_TEST_ZK/app/$key"
  locks_and_excludes k
  hold_lock k
  [[ "$(ask k children "/app/$key/k")" == *lock* ]]
  run -0 dlock run -b "$DLOCK_TEST_ZK/app/other-$key" -n k -- true
  let_go
}

# bats test_tags=all
@test "the fencing token grows: across releases, and a directory that is made again" {
  kazoo_there k
  token() { dlock run "$key" -- sh -c 'echo "$DLOCK_TOKEN"'; }
  local one two three
  one=$(token)
  two=$(token)
  wait_until gone "/$key"
  three=$(token)
  echo "$one $two $three"
  [ "$one" -lt "$two" ]
  [ "$two" -lt "$three" ]
}
gone() { [ "$(ask k children "$1")" = "no such node" ]; }

# bats test_tags=all
@test "a ttl of weeks is what the servers allow, also beyond what the library can count; a lease without a process lasts for them" {
  local ttl owner
  for ttl in 20m 10d 20d 36500d; do
    run -0 dlock run -n --ttl "$ttl" "$key" -- touch ran
    rm ran
  done
  owner=$(dlock acquire --ttl 20d "$key" | cut -d' ' -f1)
  run -0 dlock inspect --json "$key"
  jq -e '.holders[0].until | .[0:19] + "Z" | fromdate - now | . > 20 * 86400 - 60 and . <= 20 * 86400' <<<"$output"
  run -75 dlock run -q -w 2s "$key" -- true
  run -0 dlock release --owner "$owner" "$key"
  run -0 dlock run -n --ttl 20m --kill-after 9m "$key" -- true
}

@test "a lease that is renewed right behind its acquire, on three servers: the new ttl counts, longer or shorter" {
  # shellcheck disable=SC2153  # not ZK
  use "$DLOCK_TEST_ZK3"
  local owner token
  run -0 --separate-stderr dlock acquire --ttl 2s "$key-a"
  read -r owner token <<<"$output"
  run -0 dlock renew --ttl 30s "$key-a" --owner "$owner"
  run -75 dlock run -q -w 3 "$key-a" -- true
  run -0 dlock release "$key-a" --owner "$owner"
  run -0 --separate-stderr dlock acquire --ttl 30s "$key-b"
  read -r owner token <<<"$output"
  run -0 dlock renew --ttl 1s "$key-b" --owner "$owner"
  run -0 dlock run -q -w 3 "$key-b" -- true
}

@test "a lease is a node: any user on any machine that knows its owner renews and releases it, and no home is needed" {
  need_root
  open_world
  mkdir -p "$BATS_TEST_TMPDIR/libexec/dlock"
  cp "$(dirname "$(realpath "$DLOCK")")/../libexec/dlock/dlock-zookeeper" "$BATS_TEST_TMPDIR/libexec/dlock"
  local owner
  run -0 --separate-stderr nobody env -u HOME "DLOCK_BACKEND=$DLOCK_BACKEND" dlock acquire --ttl 5m "$key"
  owner=${output%% *}
  run -0 env -u HOME dlock renew --ttl 10m --owner "$owner" "$key"
  run -0 dlock release --owner "$owner" "$key"
  run -0 nobody env -u HOME "DLOCK_BACKEND=$DLOCK_BACKEND" dlock run --at-least 5m "$key" -- true
  run -75 dlock run -n "$key" -- true
  run -0 dlock revoke -w 10s "$key"
  is_free "$key"
}

@test "what no node can keep is refused before it is asked for: --watch-pid, and leases and lock-delays of recipe=simple" {
  local words
  run -78 dlock acquire --watch-pid $$ "$key"
  [[ "$output" == *"kept by no process that could see another one end"*"dlock hold $key"* ]]
  use "$DLOCK_TEST_ZK?recipe=simple"
  for words in "acquire --ttl 5s $key" "run --at-least 1s $key -- touch ran" "run --lock-delay 1s $key -- touch ran"; do
    # shellcheck disable=SC2086
    run -78 dlock $words
    [[ "$output" == *"recipe=simple has no node that outlives its session"* ]]
  done
  [ ! -e ran ]
  is_free "$key"
}

# bats test_tags=all
@test "many names, of which one is known: it is found" {
  local names
  names=$(printf 'nobody%d..invalid,' {1..100}) # the resolver asks no DNS for an empty part
  run -0 dlock run -b "zk://$names${DLOCK_BACKEND#zk://}" "$key" -- echo ran
  [ "$output" = ran ]
}

@test "something else listens there: 69, and it is said" {
  run -69 dlock run -n --connect-timeout 2s -b "zk${DLOCK_TEST_REDIS#redis}" "$key" -- touch ran
  [[ "$output" == *"is it a ZooKeeper server that listens there?"* ]]
  [ ! -e ran ]
}

@test "a folder where only a user may write: 77 without the password, at work with it; the password is shown nowhere" {
  kazoo_there k
  [ "$(ask k protect "/private-$key" app app-secret)" = ok ]
  run -77 dlock run -n -b "$DLOCK_TEST_ZK/private-$key" k -- touch ran
  [[ "$output" == *"/private-$key"* ]]
  run -77 dlock inspect -b "$DLOCK_TEST_ZK/private-$key"
  run -77 dlock gc -b "$DLOCK_TEST_ZK/private-$key"
  use "${DLOCK_TEST_ZK/\/\////app@}/private-$key"
  DLOCK_PASSWORD=wrong-one run -77 dlock run -n k -- touch ran
  [[ "$output" != *wrong-one* ]]
  [ ! -e ran ]
  export DLOCK_PASSWORD=app-secret
  locks_and_excludes k
  run -0 dlock run k -- sh -c 'ps -eo args >ps.out; echo "$DLOCK_STORE"'
  [[ "$output" != *secret* ]]
  run ! grep -qw app-secret ps.out
  unset DLOCK_PASSWORD
  (umask 077 && echo app-secret >password)
  run -0 dlock run -b "$DLOCK_BACKEND?password-file=$PWD/password" k -- true
}

# bats test_tags=all
@test "a folder from which nobody may delete: a lock goes with its session, and nothing is said; not before those inside" {
  kazoo_there k
  [ "$(ask k protect "/kept-$key/k" app app-secret rwc)" = ok ]
  use "$DLOCK_TEST_ZK/kept-$key"
  run -0 dlock run k -- true
  [ "$output" = "" ]
  run -77 dlock acquire --ttl 20s k # nobody could remove it
  [[ "$output" == *"the right "*" is missing"* ]]
  start_watched outer dlock run -w 10s k -- sh -c 'dlock run -n k -- sh -c "touch in; until [ -e go ]; do sleep 0.1; done" &
    until [ -e in ]; do sleep 0.1; done'
  [ "$(how_ended outer)" = "exit 0" ]
  run -75 dlock run -n k -- touch ran
  touch go
  run -0 dlock run -q -w 10s k -- true
  [ ! -e ran ]
}

# Its server tells nobody of what happens to a node that he may not read.
is_watched() { zookeeper_says shared wchp | grep -q "^/$1/"; } # KEY
# bats test_tags=all
@test "a holder whose node nobody may read any more hears within its ttl that it was deleted: 79" {
  kazoo_there k
  start_watched holder dlock run --ttl 1s "$key" -- sleep 60
  wait_until is_watched "$key"
  [ "$(ask k hide "/$key")" = ok ]
  run -0 dlock force-release --yes "$key"
  [ "$(how_ended holder)" = "exit 79" ]
}

@test "a password without a user, or a user without a password: 78, and it is said which is missing" {
  DLOCK_PASSWORD=secret run -78 dlock run "$key" -- touch ran
  [[ "$output" == *"there is a password"*" $DLOCK_BACKEND names no user"* && "$output" != *secret* ]]
  use "${DLOCK_TEST_ZK/zk:\/\//zk://app@}"
  run -78 dlock run "$key" -- touch ran
  [[ "$output" == *"names a user, and there is no password"* ]]
  [ ! -e ran ]
}

@test "a library's chatter never reaches the user" {
  run -0 --separate-stderr dlock run -v "$key" -- true
  [[ "$stderr" != *ZOO_* ]]
  run -69 dlock run -n -b zk://127.0.0.1:1 "$key" -- true
  [[ "$output" != *ZOO_* ]]
}

# bats test_tags=all
@test "the command inherits nothing of the connection" {
  run -0 dlock run "$key" -- sh -c 'ls -l /proc/self/fd | grep -c socket: || true'
  [ "$output" = "$(sh -c 'ls -l /proc/self/fd | grep -c socket: || true')" ]
}
