# SPDX-License-Identifier: Apache-2.0
# Servers that answer and refuse to change anything: those who wait for a lock, those who ask its holder to end, and
# those who change a stock are told so, with the reason, and end in time. "It may have been done" is said only where it may.
load ../support/cli
load ../support/redis
load ../support/mysql
load ../support/zookeeper
load ../support/zookeeper_peers

setup() { set_world; }
teardown() { end_world; }

use() { export DLOCK_BACKEND=$1; } # URL

# took_at_most SECONDS STATUS WORD...: the command ends with STATUS within them, on a machine that has the time.
took_at_most() {
  local begin
  begin=$(now_ms)
  run "-$2" timeout $((20 * slowness)) "${@:3}"
  echo "${*:3}: $status after $(($(now_ms) - begin)) ms: $output"
  [ $(($(now_ms) - begin)) -lt $((1000 * $1 * slowness)) ]
}

# PATTERN: how the server's refusal is said.
cannot_ask_the_holder() {
  took_at_most 3 69 dlock run -w 1s --replace k -- touch ran
  [[ "$output" =~ $1 ]]
  took_at_most 5 69 dlock run --connect-timeout 1s --replace k -- touch ran
  [[ "$output" =~ $1 ]]
  # The store has named a holder: neither without the lock nor elsewhere.
  took_at_most 5 69 dlock run --connect-timeout 1s --replace --fallback "local:$locks" --if-unavailable run k -- touch ran
  took_at_most 3 69 dlock revoke -w 1s k
  [[ "$output" =~ $1 ]]
  took_at_most 3 75 dlock run -w 1s --newest k -- touch ran
  [[ "$output" == *"k is held by"* ]]
  [ ! -e ran ]
}

@test "a holder that a full server, or one with too few replicas, does not ask to end: 69 with the reason, by --wait" {
  start_redis one
  use "$(redis_url one)"
  hold_lock --ttl 60s k
  redis_cli one config set maxmemory 1
  cannot_ask_the_holder 'out of memory'
  redis_cli one config set maxmemory 0
  redis_cli one config set min-replicas-to-write 1
  cannot_ask_the_holder 'too few replicas'
  redis_cli one config set min-replicas-to-write 0
  run -0 dlock run -q -w 10s --replace k -- true
}

@test "kazoo's lock cannot be asked for: 78 with the reason, however short the wait" {
  start_zookeeper one
  kazoo k one
  use "$(zookeeper_url one)?recipe=kazoo-lock"
  [ "$(ask k take one lock /k 5000)" = "held one" ]
  took_at_most 3 78 dlock run -w 1s --replace k -- touch ran
  [[ "$output" == *kazoo* ]]
  [ ! -e ran ]
}

# Between two attempts the server stops taking changes: the lease is over, and questions are answered.
waits_no_longer() { # NAME PATTERN WORD...: what makes it stop
  run -0 dlock acquire --ttl "$((2 * slowness))s" k
  start_watched "$1" dlock run --connect-timeout 1s k -- touch ran 2>said
  wait_until has 1 waiters k
  "${@:3}"
  local end
  end=$(how_ended "$1")
  echo "$end: $(<said)"
  [ "$end" = "exit 69" ]
  grep -Eq "$2" said
  [ ! -e ran ]
}
@test "a server that takes no changes any more when a waiter's turn comes: 69 with the reason, and no wait without an end" {
  start_redis one
  use "$(redis_url one)"
  waits_no_longer a 'too few replicas' redis_cli one config set min-replicas-to-write 1
  start_mysql_with_tables two
  use "$(mysql_url two)"
  waits_no_longer b 'read-only' sql two 'SET GLOBAL read_only = ON'
}

# Each step of a stock is refused with a reason that matches, and without a word of doubt.
not_done() { # PATTERN
  local step
  for step in 'create other --quantity 5' 'take phone --id b' 'refund phone --id a' 'add phone --qty 1 --id c' \
    'resize phone --segments 3' 'drop phone --yes'; do
    # shellcheck disable=SC2086
    run -69 dlock stock $step --connect-timeout 1s
    echo "$step: $output"
    [[ "$output" =~ $1 ]]
    [[ "$output" != *"may have been done"* ]]
  done
}
with_a_stock() { # URL
  use "$1"
  run -0 dlock stock create phone --quantity 5
  run -0 dlock stock take phone --id a --qty 2
}
@test "stock: what a server has refused, or was never asked, was not done, and nobody is told that it may have been" {
  start_redis one
  with_a_stock "$(redis_url one)"
  redis_cli one config set min-replicas-to-write 1
  not_done 'too few replicas'
  redis_cli one config set min-replicas-to-write 0
  redis_cli one replicaof 127.0.0.1 1
  not_done 'read-only replica'
  redis_cli one replicaof no one
  [ "$(dlock stock show phone --json | jq .total)" = 3 ]
  kill_redis one
  not_done 'connection refused'
}
