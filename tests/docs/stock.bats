# SPDX-License-Identifier: Apache-2.0
# What dlock-stock(1) teaches can be typed as it stands, and shows what it says.
bats_require_minimum_version 1.5.0
load helper

setup() {
  set_stage
  page=$root/man/dlock-stock.1.scd
}

example() { rendered_example dlock-stock.1 "$1"; }
typed() { example "$1" | bash; }

@test "the oversell happens; under one lock it does not" {
  [ "$(typed 1 | grep -c 'sold to')" = 2 ]
  [ "$(typed 2 | grep -c 'sold to')" = 1 ]
}

@test "the stock: taken once, shown; run sells, or gives back" {
  run -0 typed 3
  [[ "$output" == *"phone  998 left"* ]]
  run -0 bash -c "$(example 3 | sed -n 2p)"
  [[ "$output" =~ ^[0-9]+\ 2$ ]]
  run -0 typed 4
  [[ "$output" == *"selling "*:1* ]]
  [[ "$output" == *"996 left, 1 set aside by 1 open take"* ]] # inside the second run
  [[ "$output" == *"997 left, 0 set aside"*"taken 3,"* ]]     # after it
}

@test "the segments: five commands one after the other with one, at the same time with twenty" {
  local before between after
  before=$EPOCHREALTIME
  example 5 | sed -n 1,2p | bash
  between=$EPOCHREALTIME
  example 5 | sed -n '3,$p' | bash
  after=$EPOCHREALTIME
  awk -v a="$before" -v b="$between" -v c="$after" 'BEGIN { print b - a, c - b; exit !(b - a >= 1 && c - b < b - a) }'
  dlock stock show queue --json | jq -e '.taken == 10'
  dlock stock create phone --quantity 1
  run -0 typed 6
  [[ "$(dlock stock show)" == "there is no stock"* ]]
}
