# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# dlock stock batch when something goes wrong: killed at any moment, cut off behind any message, a server that is silent.
load ../support/cli
load ../support/mysql
load ../support/redis
load ../support/stock

setup() { set_world; }
teardown() { end_world; }

through_proxy() { # [PARAMETERS]
  start_redis one
  start_proxy one
  direct=$(redis_url one)$1
  use "$(redis_url proxy)$1"
}

# Lines of takes and refunds, in a batch that is killed behind some answer, again and again.
killed_again_and_again() {
  local round enough
  create 600 7
  seq 800 | awk '{ print "take o-" $1 } $1 % 2 { print "refund o-" $1 }' >in
  for round in {1..8}; do
    : >"out$round"
    dlock stock batch phone <in >"out$round" 2>err &
    started+=($!)
    enough=$((RANDOM % 900 + 1))
    until [ "$(wc -l <"out$round")" -ge $enough ] || ! kill -0 $! 2>/dev/null; do sleep 0.005; done
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    balanced
  done
  dlock stock batch phone <in >last || [ $? = 79 ]
  dlock stock batch phone <in >again || [ $? = 79 ]
  balanced
  # Each even one is sold, each odd one came back, however often it was sent; what a dead batch has said holds.
  is total 200
  said() { grep -hE '^o-[0-9]*[02468] (ok|repeated)( |$)' "$@" | sed 's/ repeated / ok /' | sort -u; }
  [ "$(said last | wc -l)" = 400 ]
  said out* | comm -23 - <(said last) >lost
  [ ! -s lost ]
  diff <(said last) <(said again)
}

@test "kill -9 at any moment on this machine: nothing is oversold or lost, the same input has the same answers" {
  killed_again_and_again
}

@test "kill -9 at any moment on Redis: nothing is oversold or lost, the same input has the same answers" {
  start_redis one
  use "$(redis_url one)"
  killed_again_and_again
}

@test "takes of one block come out of all segments on Redis, as many each or not" {
  start_redis one
  use "$(redis_url one)"
  create 300 20
  seq -f 'take o-%.0f' 200 | dlock stock batch phone >out
  [ "$(awk '{ print $3 }' out | sort | uniq -c | awk '{ print $1 }' | sort -u)" = 10 ]
  seq 40 | awk '{ print "take p-" $1, 1 + $1 % 2 }' | dlock stock batch phone >out
  [ "$(awk '{ print $3 }' out | cut -d: -f1 | sort | uniq -c | awk '{ print $1 }' | sort -u)" = 2 ]
  balanced
  is total 40
}

cut_off() { # REQUESTS REPLIES
  requests=$1 replies=$2
  create 400 7
  cut_behind_each sh -c "printf '%s\n' 'take o-AT 2' 'take p-AT' 'add t-AT 1' 'refund o-AT 1' 'take q-AT' | dlock stock batch phone"
  is taken $((4 * cuts))
  is refunded "$cuts"
  is added "$cuts"
}

@test "cut behind every message: each line is served once, and answered" {
  through_proxy ''
  cut_off 4 4
}

@test "a server that is silent for longer than --wait: unavailable, 69, and the same again finds out" {
  through_proxy ''
  create 10 2
  printf '%s\n' 'take a' 'take b' >in
  mkfifo requests
  dlock stock batch phone --wait 300ms <requests >out 2>err &
  started+=($!)
  exec 5>requests
  echo 'take first' >&5
  wait_until test -s out
  network hold
  cat in >&5
  exec 5>&-
  local status=0
  wait $! || status=$?
  [ "$status" = 69 ]
  [ "$(grep -cE '^[ab] error unavailable ' out)" = 2 ]
  network pass
  run -0 dlock stock batch phone <in
  is taken 3
}
