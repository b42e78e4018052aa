# SPDX-License-Identifier: Apache-2.0
# Tair when answers are lost and keys are changed by others, against the stand-in of tests/support/fake_tair.py, in both
# modes; and a server that is not a Tair.
load ../support/cli
load ../support/faults
load ../support/redis

setup() {
  set_world
  script_section
  start_tair tair
}
teardown() { end_world; }

use() { # NAME [?mode=ex]
  DLOCK_BACKEND=tair://127.0.0.1:$(port_of "$1")$2
  export DLOCK_BACKEND
}
through_proxy() { # [?mode=ex]
  start_proxy tair
  use tair "$1"
  direct=$DLOCK_BACKEND
  use proxy "$1"
}

# bats test_tags=all
@test "mode=cas, cut behind every single message: ran once, released, nobody is told otherwise" { through_proxy ''; life_cut_everywhere 1s 7; }
# bats test_tags=all
@test "mode=ex, cut behind every single message: the same" { through_proxy '?mode=ex'; life_cut_everywhere 1s 7; }

# bats test_tags=all
@test "acquire: a server that falls silent right after the grant does not matter any more, and the handle is good" {
  through_proxy ''
  silent_behind_the_grant 3
}

is_queued() { grep -q '^dlock: waiting for k.* - held by' said; }
# bats test_tags=all
@test "an outage under a waiter, shorter than its wait: refused" { through_proxy ''; outage_under_a_waiter refuse; }

# bats test_tags=all
@test "the key is deleted by hand: 79, and it is not made again" {
  local mode
  for mode in '' '?mode=ex'; do
    rm -f history a a.pid
    use tair "$mode"
    start_watched a dlock run --ttl 2s k -- section --for 30
    wait_until begun 1
    redis_cli tair del k
    [ "$(how_ended a)" = "exit 79" ]
    [ "$(redis_cli tair exists k)" = 0 ]
  done
}

@test "mode=cas excludes a client of SET NX, is excluded by it, and never deletes its key" {
  use tair
  hold_lock --ttl 5s k
  [ -z "$(redis_cli tair set k theirs nx px 60000)" ]
  let_go
  [ "$(redis_cli tair set k theirs nx px 60000)" = OK ]
  run -75 dlock run -q -n k -- true
  [ "$(redis_cli tair get k)" = theirs ]
}

@test "mode=ex: an old version of another client does not fit our lock, and our commands do not hit theirs" {
  use tair '?mode=ex'
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
  local mode
  for mode in '' '?mode=ex'; do
    use tair "$mode"
    run -0 dlock run --ttl 1s k -- sleep 0.5
  done
  redis_cli tair fake seen >sent
  grep -qE '^CAS k \S+ \S+ PX 1000$' sent
  grep -qE '^EXCAS k \S+ [0-9]{5,} PX 1000$' sent
  grep -qE '^CAD k ' sent
  grep -qE '^EXCAD k [0-9]{5,}$' sent
  run ! grep -E 'KEEPTTL| VER ' sent
  run ! grep -E '^(SET|EXSET|CAS|EXCAS) k [^P]*$' sent
}

@test "a server that is not a Tair: 78, with what to use instead, and nothing is left on it" {
  start_redis one
  local mode
  for mode in '' '?mode=ex'; do
    use one "$mode"
    run -78 dlock run -n k -- touch ran
    [[ "$output" == *"is not a Tair"*redis://* ]]
    [ ! -e ran ]
    [ "$(redis_cli one dbsize)" = 0 ]
  done
}
