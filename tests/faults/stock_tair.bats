# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# Stocks in Tair, against the stand-in of tests/support/fake_tair.py. Their script is that of Redis: stock.bats.
load ../support/cli
load ../support/redis
load ../support/stock

setup() {
  set_world
  start_tair tair
  use "tair://127.0.0.1:$(port_of tair)"
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

@test "a server that is not a Tair keeps no such stock, and says so" {
  start_redis one
  run -78 dlock stock create phone --quantity 5 -b "tair://127.0.0.1:$(port_of one)"
  [[ "$output" == *"is not a Tair"* ]]
}
