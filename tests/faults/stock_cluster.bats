# SPDX-License-Identifier: Apache-2.0
# A stock on a cluster lies in one slot, whatever happens to the master that has it. Messages that are cut and clients that are killed: stock.bats.
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
@test "a request is a look and a commit on one master, and stocks lie on all of them by their names" {
  on_cluster
  local name node
  for name in {1..30}; do dlock stock create "s$name" --quantity 9; done
  for node in a b c; do
    [ "$(redis_cli "$node" keys 'dlock:stock:{s*}' | grep -c .)" -gt 0 ]
    redis_cli "$node" config resetstat
  done
  for name in {1..30}; do dlock stock take "s$name" --id order; done
  local sum=0 each
  for node in a b c; do
    each=$(redis_cli "$node" info commandstats | tr -d '\r' | sed -nE 's/^cmdstat_eval:calls=([0-9]+),.*/\1/p')
    sum=$((sum + ${each:-0}))
  done
  [ "$sum" = 60 ]
}

@test "redlock:// keeps no stock: 78, and says why" {
  run -78 dlock stock take phone -b redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3
  [[ "$output" == *"not on how many items are left"* ]]
}

@test "stock: another way to deduct is refused in every URL, 78, with what works" {
  local url
  for url in 'redis://h?stock=decr' 'tair://h?stock_slots=2' 'mysql://u@h/d?stock=optimistic'; do
    run -78 dlock stock take phone -b "$url"
    [[ "$output" == *"no parameter 'stock"*"leave it out: a take is one guarded step"* ]]
  done
}
