# SPDX-License-Identifier: Apache-2.0
# What tests of stocks on servers have in common: the stock is "phone", $direct is the server without the proxy in between.

requests=3 replies=3

field() { DLOCK_BACKEND=${direct:-$DLOCK_BACKEND} dlock stock show phone --json | jq ".$1"; }
is() { [ "$(field "$1")" = "$2" ]; }
balanced() { [ "$(field 'total + .reserved + .taken - .refunded - .created - .added')" = 0 ]; }
create() { DLOCK_BACKEND=${direct:-$DLOCK_BACKEND} dlock stock create phone --quantity "$1" --segments "$2"; }

# cut_behind_each COMMAND...: runs it once for each place where a connection can be cut, with a number of its own for AT in
# the words. How many messages there are in each direction, at least: $requests, $replies.
cut_behind_each() {
  local direction n at=0 word words
  for direction in requests replies; do
    for ((n = 0; n <= ${!direction}; n++)); do
      at=$((at + 1)) words=()
      for word in "$@"; do words+=("${word//AT/$at}"); done
      network cut "$direction" "$n"
      run "${words[@]}"
      echo "cut behind $n $direction: $status $output"
      [ "$status" = 0 ] || return 1
      balanced || return 1
    done
  done
  cuts=$at
}

# A take is one take.
cut_takes() {
  create 300 7
  cut_behind_each dlock stock take phone --qty 3 --id order-AT
  is taken $((3 * cuts))
  cut_behind_each dlock stock take phone --qty 3 --id order-AT # the same again
  is taken $((3 * cuts))
  cut_behind_each dlock stock take phone --qty 1 # dlock's own ids do the same
  is taken $((4 * cuts))
}

# A refund is one refund, a restock one restock.
cut_refunds_and_restocks() {
  create 300 7
  local i orders=$((requests + replies + 2))
  for ((i = 1; i <= orders; i++)); do dlock stock take phone --qty 5 --id "order-$i"; done
  cut_behind_each dlock stock refund phone --qty 2 --id order-AT
  is refunded $((2 * cuts))
  cut_behind_each dlock stock add phone --qty 4 --id truck-AT
  cut_behind_each dlock stock add phone --qty 4
  is added $((8 * cuts))
  is total $((300 - 5 * orders + 2 * cuts + 8 * cuts))
}

# What concerns all of a stock does not fall over itself.
cut_whole_stocks() {
  create 10 3 # for balanced
  cut_behind_each dlock stock create other-AT --quantity 5
  cut_behind_each dlock stock resize phone --segments 5
  cut_behind_each dlock stock rebalance phone
  cut_behind_each dlock stock drop other-AT --yes
  use "$direct"
  [ "$(dlock stock show --json | wc -l)" = 1 ]
}

# A run sells once and runs once.
cut_runs() {
  create 300 7
  cut_behind_each dlock stock run phone --qty 2 --id order-AT --ttl 2s --renew-interval 100ms -- sh -c 'echo ran >>ran; sleep 0.25'
  is taken $((2 * cuts))
  is open 0
  [ "$(wc -l <ran)" = "$cuts" ]
  cut_behind_each sh -c 'dlock stock run phone --qty 2 --id failed-AT -- false; test $? = 1'
  is taken $((2 * cuts))
  is open 0
}

# CMD is ended with 79 before its time is over, nothing is sold, the part comes back.
black_hole() {
  create 10 2
  start_watched a dlock stock run phone --qty 2 --ttl 2s -- sh -c 'touch inside; exec sleep 60'
  wait_until test -e inside
  network hold
  [ "$(how_ended a)" = "exit 79" ]
  wait_until is total 10
  is taken 0
  network pass
}

# CMD ends with 0, but nobody can be told; the same request again finds out.
sale_without_an_answer() {
  create 10 2
  start_watched a dlock stock run phone --qty 2 --id order-1 --ttl 2s -- sh -c 'touch inside; until [ -e go ]; do sleep 0.02; done'
  wait_until test -e inside
  network drop
  touch go
  [ "$(how_ended a)" = "exit 69" ] || [ "$(how_ended a)" = "exit 79" ]
  network pass
  wait_until is open 0
  balanced
  is taken 0 # dropped: the sale was never heard of
  run -0 dlock stock run phone --qty 2 --id order-1 -- true
  is taken 2
}
