# SPDX-License-Identifier: Apache-2.0
# Stocks in ZooKeeper when something goes wrong: connections cut behind every single message, clients and servers killed,
# networks that are silent. What the books come to while 12 clients do everything at once and are killed at any step is
# tests/stress/stock_stress.cpp; here the servers go as well. Each test has a server of its own.
load ../support/cli
load ../support/zookeeper
load ../support/stock

setup() {
  set_world
  requests=8 replies=8
}
teardown() { end_world; }

through_proxy() {
  start_zookeeper one
  start_proxy one frames
  direct=$(zookeeper_url one)
  use "$(zookeeper_url proxy)"
}

@test "a black hole: CMD is ended with 79 before its time is over, nothing is sold, the part comes back" {
  through_proxy
  create 10 2
  black_hole 2
}

# bats test_tags=all
@test "CMD ends with 0, but nobody can be told: 69, and the same request again finds out" {
  through_proxy
  sale_without_an_answer
}

@test "the server is killed and comes back with its data while CMD runs: sold once" {
  start_zookeeper one
  use "$(zookeeper_url one)"
  create 10 2
  run_until_told a --qty 2 --id a --ttl 30s
  kill_server one
  restart_zookeeper one
  is reserved 2
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  is taken 2
  is total 8
}

# bats test_tags=all
@test "a machine that is gone gives back what it had set aside when the ttl is over, and not before" {
  start_zookeeper one
  use "$(zookeeper_url one)"
  create 10 2
  run_until_told a --qty 6 --id a --ttl 3s
  local keeper
  keeper=$(pgrep -P "$(pid_of a)" -x dlock-zookeeper)
  kill -KILL "$keeper" "$(pid_of a)"
  is reserved 6
  run -0 dlock stock take phone --qty 10 --id b --wait 20s # waits for what may come back
  is taken 10
  is open 0
}

# bats test_tags=all
@test "while the server is away a take waits for it, until the connect timeout: 69" {
  start_zookeeper one
  use "$(zookeeper_url one)"
  create 10 2
  kill_server one
  take_waits_for_its_server 0 restart_zookeeper one
  is taken 1
}

# bats test_tags=all
@test "12 clients that do everything and are killed, while the server is killed as well: right" {
  start_zookeeper one
  "$(dirname "$DLOCK")/../tests/stock_stress" 20 6 "$(zookeeper_url one)" >stress.log 2>&1 3>&- &
  local stress=$! _
  started+=("$stress")
  for _ in 1 2; do
    sleep 1.5 # somewhere in the middle of it
    kill_server one
    restart_zookeeper one
  done
  wait "$stress" || { cat stress.log; false; }
  [[ "$(cat stress.log)" == *" 0 served twice, 0 out of balance, 0 failures, "*": right"* ]]
}

@test "a stock that somebody made with a user of his own is read by all and changed by nobody else: 77" {
  start_zookeeper one
  local server
  server=127.0.0.1:$(port_of one)
  DLOCK_PASSWORD=pw dlock stock create phone --quantity 5 -b "zk://seller@$server"
  use "zk://$server"
  run -77 dlock stock take phone
  is total 5
  DLOCK_PASSWORD=pw run -0 dlock stock take phone -b "zk://seller@$server"
  is total 4
}

# bats test_tags=all
@test "a drop that is interrupted leaves nothing that gc does not sweep" {
  start_zookeeper one
  start_proxy one frames
  direct=$(zookeeper_url one)
  use "$direct"
  create 10 2
  for i in 1 2 3 4 5; do dlock stock take phone --id "order-$i"; done
  use "$(zookeeper_url proxy)"
  network cut replies 3
  start_watched a dlock stock drop phone --yes
  how_ended a
  use "$direct"
  run -78 dlock stock take phone
  run -0 dlock gc
  run -0 dlock gc
  [[ "$output" == "nothing to sweep"* ]]
}

# bats test_tags=all
@test "tokens begin at the time at which the stock was made: one that comes from another store goes on with larger ones" {
  start_zookeeper one
  use "$(zookeeper_url one)"
  tokens_begin_at_the_time
}

# bats test_tags=all
@test "a server that greets nobody: 69, and nothing was done" {
  through_proxy
  create 10 2
  take_from_a_server_that_greets_nobody
}
