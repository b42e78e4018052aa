# SPDX-License-Identifier: Apache-2.0
# Stocks whose segments lie in several slots, when something goes wrong. Hold, confirm and cancel are the same on one
# server as on a cluster: so messages are cut and clients killed behind one proxy, and masters on a real cluster.
load ../support/cli
load ../support/redis
load ../support/deployments
load ../support/stock

setup() { set_world; }
teardown() { end_world; }

through_proxy() {
  start_redis one
  start_proxy one
  direct="$(redis_url one)?stock_slots=4"
  use "$(redis_url proxy)?stock_slots=4"
  requests=13 replies=13
}
on_cluster() { # [OPTION...]
  start_cluster
  use "$url?stock_slots=6"
}

# bats test_tags=all
@test "cut behind every message: a take from several slots is one take" {
  through_proxy
  create 1200 4
  cuts_in_a_take 1
}

# bats test_tags=all
@test "cut behind every message: what is gathered is gathered once" {
  through_proxy
  create 40 40 # one item a segment: whatever is more than one goes over several slots sooner or later
  local i
  for i in {1..3}; do
    cut_behind_each dlock stock take phone --qty 12 --id "order-$i"
    is taken $((12 * i))
  done
  run -80 dlock stock take phone --qty 5
}

# bats test_tags=all
@test "cut behind every message: a refund is one refund, a restock one restock, in several slots" {
  through_proxy
  create 400 4
  cuts_in_refunds_and_restocks 9
}

# bats test_tags=all
@test "cut behind every message: create, resize, rebalance and drop of several slots do not fall over themselves" {
  through_proxy
  create 10 3 # for balanced
  cuts_in_what_changes_the_segments
}

@test "cut behind every message: a run sells once and runs once, from several slots" {
  through_proxy
  create 8 4
  cut_behind_each dlock stock run phone --qty 7 --id order --ttl 2s --renew-interval 100ms -- sh -c 'echo ran >>ran; sleep 0.25' ||
    [ "$status" = 0 ] || return 1
  is taken 7
  [ "$(wc -l <ran)" = 1 ]
}

@test "a black hole: CMD is ended with 79, and what lies in other slots comes back as well" {
  through_proxy
  create 8 4
  black_hole 7
}

@test "killed behind every message: a take from several slots, and its refund, happened altogether or not at all" {
  through_proxy
  kills_in_takes_and_refunds
}

# bats test_tags=all
@test "killed behind every message: a run is sold once or not, its restock counts once, its levelling loses nothing" {
  through_proxy
  create 8 4
  killed_behind_each 16 sh -c 'dlock stock run phone --qty 7 --id order-AT -- true; dlock stock refund phone --id order-AT'
  is total 8
  killed_behind_each 12 dlock stock add phone --qty 9 --id truck-AT
  is total $((8 + 9 * kills))
  killed_behind_each 20 dlock stock resize phone --segments 3
  killed_behind_each 20 dlock stock rebalance phone
  is total 116
}

@test "a master is killed and comes back with its data while CMD runs: sold once, from all of them" {
  start_cluster_on_disk
  create 12 6
  run_until_told a --qty 11 --id a --ttl 20s --renew-interval 200ms
  for node in a b c; do
    kill_redis "$node"
    restart_redis "$node"
    wait_until is_writable "$node"
  done
  is reserved 11
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  is taken 11
  is total 1
  is open 0
}
start_cluster_on_disk() {
  start_cluster
  for node in a b c; do
    redis_cli "$node" config set appendfsync always
    redis_cli "$node" config set appendonly yes
    tr '\0' '\n' <"$servers/$node/options" | sed '/^--appendonly$/{n;s/no/yes/}' | tr '\n' '\0' >"$servers/$node/options.new"
    mv "$servers/$node/options.new" "$servers/$node/options"
  done
  use "$url?stock_slots=6"
}

@test "a master comes back empty: the stock is said to have lost a part, 78, and nothing is sold of the rest" {
  on_cluster
  create 12 6
  kill_redis c
  restart_redis c
  wait_until is_writable c
  run -78 dlock stock show phone
  [[ "$output" == *"lost its part"* ]]
  run -78 dlock stock take phone --qty 12 --id all
  run -0 dlock stock drop phone --yes
  create 12 6
  run -0 dlock stock take phone --qty 12 --id all
}

@test "the slots of a stock lie on all masters, and one request is one script on one of them" {
  on_cluster
  create 600 6
  local node
  for node in a b c; do
    [ "$(redis_cli "$node" keys 'dlock:stock:6:*:quantity' | grep -c .)" = 2 ]
  done
  for node in a b c; do redis_cli "$node" config resetstat; done
  local i
  for i in {1..30}; do dlock stock take phone --id "order-$i"; done
  local sum=0 each
  for node in a b c; do
    each=$(redis_cli "$node" info commandstats | tr -d '\r' | sed -nE 's/^cmdstat_eval:calls=([0-9]+),.*/\1/p')
    [ "${each:-0}" -gt 0 ]
    sum=$((sum + each))
  done
  [ "$sum" = 30 ]
  is taken 30
}

# bats test_tags=all
@test "twelve takers of mixed quantities, with repeated ids, refunds, restocks and levellings: the sum holds" {
  on_cluster
  create 60 12
  local i
  for i in {1..12}; do
    (
      for round in 1 2 3; do
        dlock stock take phone --qty $((i % 7 + 1)) --id "order-$i" --wait 5s || true
        if [ $((i % 3)) = 0 ]; then dlock stock refund phone --id "order-$i" || true; fi
        if [ "$i" = 5 ]; then dlock stock rebalance phone; fi
        if [ "$i" = 7 ]; then dlock stock resize phone --segments $((round * 4)); fi
        if [ "$i" = 11 ]; then dlock stock add phone --qty 3 --id truck; fi
      done
    ) >"taker-$i" 2>&1 3>&- &
  done
  wait
  balanced
  is added 3
  is reserved 0
  straight stock show phone --json | jq -e '.segments | map(.quantity) | min >= 0'
}

@test "redlock:// keeps no stock: 78, and says why" {
  run -78 dlock stock take phone -b redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3
  [[ "$output" == *"not on how many items are left"* ]]
}

@test "stock_slots: what is no number of slots is refused, 78" {
  run -78 dlock stock take phone -b 'redis://127.0.0.1:1?stock_slots=0'
  [[ "$output" == *"1 to 256"* ]]
  run -78 dlock stock take phone -b 'redis://127.0.0.1:1?stock=incr'
  [[ "$output" == *"cannot be 'incr'"* ]]
}
