# SPDX-License-Identifier: Apache-2.0
# A stock on a cluster lies in one slot, whatever happens to the master that has it; and what an older dlock spread over
# several slots is told apart. Messages that are cut and clients that are killed: stock.bats.
load ../support/cli
load ../support/redis
load ../support/deployments
load ../support/stock

setup() { set_world; }
teardown() { end_world; }

on_cluster() {
  start_cluster
  use "$url"
}

# bats test_tags=all
@test "one request is one script on one master, and stocks lie on all of them by their names" {
  on_cluster
  local name node
  for name in {1..30}; do dlock stock create "s$name" --quantity 9; done
  for node in a b c; do
    [ "$(redis_cli "$node" keys 'dlock:stock:{s*}:meta' | grep -c .)" -gt 0 ]
    redis_cli "$node" config resetstat
  done
  for name in {1..30}; do dlock stock take "s$name" --id order; done
  local sum=0 each
  for node in a b c; do
    each=$(redis_cli "$node" info commandstats | tr -d '\r' | sed -nE 's/^cmdstat_eval:calls=([0-9]+),.*/\1/p')
    sum=$((sum + ${each:-0}))
  done
  [ "$sum" = 30 ]
}

# As a dlock with ?stock_slots=6, or one before this at a Tair, wrote the first slot.
spread_over_slots() { redis_cli "$1" hset "$2" made 0123456789abcdef0123456789abcdef segments 6; } # SERVER KEY

@test "a stock that an older dlock spread over several slots is refused, 78, with the way to move it" {
  start_redis one
  use "$(redis_url one)"
  spread_over_slots one 'dlock:stock:6:{phone|0.17}:meta'
  local action words
  for action in show 'take --id a' 'refund --id a' 'add --qty 1' 'drop --yes' rebalance; do
    read -ra words <<<"$action"
    run -78 dlock stock "${words[0]}" phone "${words[@]:1}"
    [[ "$output" == *"spread over several slots by an older dlock"*"stock show"*"create it here"* ]]
  done
  run -78 dlock stock show other
  [[ "$output" == *"there is no stock 'other'"* ]]
  run -78 dlock stock show phone -b "$(redis_url one)?stock_slots=6"
  [[ "$output" == *"stock_slots=6 was removed"* ]]
  create 4 2
  run -0 dlock stock take phone -b "$(redis_url one)?stock_slots=1" --qty 4 --id b
}

@test "a stock in Tair that an older dlock spread is refused, also when it is to be created anew" {
  start_tair tair
  use "tair://127.0.0.1:$(port_of tair)"
  spread_over_slots tair 'dlock:stock:tair:8:{phone|0.3}:meta'
  run -78 dlock stock create phone --quantity 5
  [[ "$output" == *"spread over several slots by an older dlock"* ]]
}

@test "redlock:// keeps no stock: 78, and says why" {
  run -78 dlock stock take phone -b redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3
  [[ "$output" == *"not on how many items are left"* ]]
}

@test "stock: a way to deduct that does not exist is refused, 78" {
  run -78 dlock stock take phone -b 'redis://127.0.0.1:1?stock=incr'
  [[ "$output" == *"cannot be 'incr'"* ]]
}
