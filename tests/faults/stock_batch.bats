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

# Lines of takes and confirms, in a batch that is killed behind some answer, again and again.
killed_again_and_again() {
  local round enough n
  create 600 7
  seq 800 | awk '{ print "take o-" $1 } $1 % 2 { print "confirm o-" $1 }' >in
  for round in {1..8}; do
    : >"out$round"
    dlock stock batch phone --reserve 5m --window 3 <in >"out$round" 2>err &
    started+=($!)
    enough=$((RANDOM % 900 + 1))
    until [ "$(wc -l <"out$round")" -ge $enough ] || ! kill -0 $! 2>/dev/null; do sleep 0.005; done
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    balanced
  done
  dlock stock batch phone --reserve 5m <in >last || [ $? = 79 ]
  dlock stock batch phone --reserve 5m <in >again || [ $? = 79 ]
  balanced
  is total 0
  # Sold what was confirmed, aside what was not, and whatever a dead batch had said is what the last one says.
  mapfile -t n < <(field taken reserved)
  [ $((n[0] + n[1])) = 600 ]
  is taken "$(grep -c '^o-[0-9]* ok$' last)"
  said() { grep -hE ' (ok|repeated)( |$)' "$@" | sed 's/ repeated / ok /' | sort -u; }
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
  cut_behind_each sh -c "printf '%s\n' 'take o-AT 2' 'take p-AT' 'add t-AT 1' 'confirm o-AT' 'take q-AT' | dlock stock batch phone"
  is taken $((4 * cuts))
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
