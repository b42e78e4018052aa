# SPDX-License-Identifier: Apache-2.0
# Stocks in Tair when answers are lost and clients die, against the stand-in of tests/support/fake_tair.py.
load ../support/cli
load ../support/redis
load ../support/stock

setup() {
  set_world
  start_tair tair
  start_proxy tair
  direct="tair://127.0.0.1:$(port_of tair)"
  use "tair://127.0.0.1:$(port_of proxy)"
  requests=7 replies=7
}
teardown() { end_world; }

seen() { redis_cli tair fake seen | grep -c "$1"; }

@test "tair: quantities go down with EXINCRBY and a floor" {
  create 8 4
  run -0 dlock stock take phone --qty 7 --id a
  [ "$(seen '^EXINCRBY dlock:stock:tair:{phone}:quantity.* -[0-9]* MIN 0$')" -ge 4 ]
  run -80 dlock stock take phone --qty 2
  is total 1
}

# bats test_tags=all
@test "tair, cut behind every message: a take is one take" {
  create 1000 4
  cuts_in_a_take 2
}

# bats test_tags=all
@test "tair, cut behind every message: a refund is one refund, a restock one restock" {
  create 400 4
  cuts_in_refunds_and_restocks 9
}

# bats test_tags=all
@test "tair, cut behind every message: create, resize, rebalance and drop do not fall over themselves" {
  create 10 3
  cuts_in_what_changes_the_segments
}

# bats test_tags=all
@test "tair, cut behind every message: a run sells once and runs once" {
  create 100 7
  cuts_in_a_run 2
}

# bats test_tags=all
@test "tair, killed behind every message: a take and its refund, happened altogether or not at all" {
  kills_in_takes_and_refunds
}

@test "tair: a black hole: CMD is ended with 79, nothing is sold, the parts come back" {
  create 8 4
  black_hole 7
}

@test "a server that is not a Tair keeps no such stock, and says so" {
  start_redis one
  run -78 dlock stock create phone --quantity 5 -b "tair://127.0.0.1:$(port_of one)"
  [[ "$output" == *"is not a Tair"* ]]
}

@test "tair, a server that is silent: 69 says that a take or a restock may have been done, and how to repeat it once" {
  create 10 2
  take_from_a_silent_server
}
