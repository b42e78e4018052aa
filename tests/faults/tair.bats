# SPDX-License-Identifier: Apache-2.0
# Tair when answers are lost and keys are changed by others, against the stand-in of tests/support/fake_tair.py; and a
# server that is not a Tair.
load ../support/cli
load ../support/faults
load ../support/redis

setup() {
  set_world
  script_section
  start_tair tair
}
teardown() { end_world; }

use() { # NAME
  DLOCK_BACKEND=tair://127.0.0.1:$(port_of "$1")
  export DLOCK_BACKEND
}
through_proxy() {
  start_proxy tair
  use tair
  direct=$DLOCK_BACKEND
  use proxy
}

# bats test_tags=all
@test "cut behind every single message: ran once, released, nobody is told otherwise" { through_proxy; life_cut_everywhere 1s 7; }

# bats test_tags=all
@test "acquire: a server that falls silent right after the grant does not matter any more, and the handle is good" {
  through_proxy
  silent_behind_the_grant 3
}

is_queued() { grep -q '^dlock: waiting for k.* - held by' said; }
# bats test_tags=all
@test "an outage under a waiter, shorter than its wait: refused" { through_proxy; outage_under_a_waiter refuse; }

# bats test_tags=all
@test "the key is deleted by hand: 79, and it is not made again" {
  use tair
  start_watched a dlock run --ttl 2s k -- section --for 30
  wait_until begun 1
  redis_cli tair del k
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(redis_cli tair exists k)" = 0 ]
}

@test "an old version of another client does not fit our lock, and our commands do not hit theirs" {
  use tair
  redis_cli tair exset k theirs nx px 60000
  run -75 dlock run -q -n k -- true
  [ "$(redis_cli tair excad k 1)" = 1 ]
  hold_lock --ttl 5s k
  [ "$(redis_cli tair excad k 1)" = 0 ]
  [[ "$(redis_cli tair excas k theirs 1 px 60000)" == *FAILED* ]]
  let_go
  is_free k
}

@test "what is sent: never KEEPTTL or VER, never a key without its time" {
  use tair
  run -0 dlock run --ttl 1s k -- sleep 0.5
  redis_cli tair fake seen >sent
  grep -qE '^EXCAS k \S+ [0-9]{5,} PX 1000$' sent
  grep -qE '^EXCAD k [0-9]{5,}$' sent
  run ! grep -E 'KEEPTTL| VER ' sent
  run ! grep -E '^(EXSET|EXCAS) k [^P]*$' sent
}

@test "a server that is not a Tair: 78, with what to use instead, and nothing is left on it" {
  start_redis one
  use one
  run -78 dlock run -n k -- touch ran
  [[ "$output" == *"is not a Tair"*redis://* ]]
  [ ! -e ran ]
  [ "$(redis_cli one dbsize)" = 0 ]
}

@test "there is one way to keep a lock in a Tair: ?mode= is 78" {
  use tair
  run -78 dlock run -n -b "$DLOCK_BACKEND?mode=ex" k -- touch ran
  [[ "$output" == *"has no parameter 'mode'"*"it has: "* ]]
  [ ! -e ran ]
}
