# SPDX-License-Identifier: Apache-2.0
# tests/verify says yes to every store, and no to one that is wrong on purpose.
load ../support/cli
load ../support/stores
load ../support/redis
load ../support/deployments

setup() {
  set_world
  export TMPDIR=$BATS_TEST_TMPDIR # for the histories
}
teardown() { end_world; }

verified() { # [OPTION...]
  run "$programs/verify" run "$@"
  echo "$output"
}
# PROMISE: what was asked of it at least once was kept.
is_held() { grep -E "^  $1 +[1-9][0-9]* .* held$" <<<"$output"; }
is_broken() { grep -E "^  $1 .*BROKEN" <<<"$output"; }

@test "this machine keeps what dlock promises: no keepers, everything else" {
  verified --duration 5s --seed 3
  [ "$status" = 0 ]
  local promise
  for promise in 'one holder at a time' 'tokens grow' 'a waiter is woken' 'nothing is lost without a cause' \
    'first come, first served' '2 permits, one for each slot' 'nothing is left over'; do is_held "$promise"; done
  grep -q 'kill-run [1-9]' <<<"$output"
}

# bats test_tags=all
@test "verify: a history that cannot be written ends it without a verdict" {
  run -71 bash -c 'ulimit -f 8; "$@" run --duration 60s --workers 4 2>&1 | cat; exit "${PIPESTATUS[0]}"' - "$programs/verify"
  [[ "$output" == *"cannot write $BATS_TEST_TMPDIR/verify."*"/history: File too large"* ]]
}

# bats test_tags=all
@test "verify: a hook that fails, a store that is not there, and an unknown word end it without a verdict" {
  run -71 "$programs/verify" run --duration 4s --hook 'exit 3 #'
  [[ "$output" == *"the hook failed at fault-1"* ]]
  DLOCK_BACKEND=redis://127.0.0.1:1 run -71 "$programs/verify" run
  [[ "$output" == *"cannot reach 127.0.0.1:1"* ]]
  run -64 "$programs/verify" run --faults kil
  run -64 "$programs/verify" run --duration 4s more
}

kept() {
  verified --duration $((10 * slowness))s
  [ "$status" = 0 ]
  is_held 'one holder at a time'
  is_held 'nothing is lost without a cause'
  grep -qE 'kill-(run|keeper|both) [1-9]' <<<"$output"
}
# bats test_tags=all
@test "each store keeps what dlock promises while runs and their keepers are killed and stopped" {
  need_servers
  on_each_store kept
}

# --- stores that are wrong on purpose: each is caught ------------------------------------------------------------------

@test "caught: a keeper that grants what it has not" {
  install_keeper memory_keeper
  use redis://memory
  verified --duration 3s --faults none
  [ "$status" = 1 ]
  is_broken 'one holder at a time'
}

# bats test_tags=all
@test "caught: a keeper that renews too late" {
  start_redis one
  use "$(redis_url one)"
  local real
  real=$(dirname "$(realpath "$DLOCK")")/../libexec/dlock
  install_keeper memory_keeper
  cat >"$BATS_TEST_TMPDIR/prefix/libexec/dlock/dlock-redis" <<SCRIPT
#!/bin/bash
[ "\$1" != --keeper ] || (sleep 0.2; kill -STOP \$\$; sleep 4; kill -CONT \$\$) </dev/null &>/dev/null 3>&- &
exec $real/dlock-redis "\$@"
SCRIPT
  chmod +x "$BATS_TEST_TMPDIR/prefix/libexec/dlock/dlock-redis"
  # With this seed five of the first eight hold for as long as a lease, which is believed no longer without a renewal.
  verified --duration 3s --faults none --seed 19463
  [ "$status" = 1 ]
  is_broken 'nothing is lost without a cause'
}

# bats test_tags=all
@test "caught: a Redis that is flushed meanwhile" {
  start_redis one
  use "$(redis_url one)"
  verified --duration 4s --faults none --hook "for i in \$(seq 20); do redis-cli -p $(port_of one) flushall; sleep 0.05; done #"
  [ "$status" = 1 ]
  is_broken 'one holder at a time'
}

# A failover while the replica hears of nothing, once the primary has had a lock for a while that its replica has not.
# Returns when the new primary has a replica.
script_failover() {
  script failover <<SCRIPT
#!/bin/bash
[ "\$1" = fault-1 ] || exit 0
at() { redis-cli -p "\$1" "\${@:2}"; }
at $(port_of one) acl setuser default -psync -sync
at $(port_of one) client kill type replica
until [ "\$lost" ] && [ "\$lost" = "\$before" ]; do
  before=\$lost
  sleep 0.3
  lost=\$(comm -23 <(at $(port_of one) mget verify/{x,q} | sort) <(at $(port_of two) mget verify/{x,q} | sort))
done
until at $(port_of s1) sentinel failover main | grep -q OK; do sleep 0.1; done
until at $(port_of two) info replication | grep -q 'state=online'; do sleep 0.1; done
SCRIPT
}

# bats test_tags=all
@test "caught: a Sentinel failover that loses what was confirmed" {
  # Who had what was lost ends as soon as its keeper finds that out: another one need not have come in before.
  local _ server
  for _ in {1..6}; do
    for server in "$servers"/*/; do [ ! -d "$server" ] || kill_server "$(basename "$server")"; done # of the try before
    rm -rf -- "$servers"
    start_sentinels
    script_failover
    use "$url"
    verified --ttl 6s --workers 6 --duration $((4 + 4 * slowness))s --faults none --hook failover
    [ "$status" != 1 ] || break
  done
  [ "$status" = 1 ]
  is_broken 'one holder at a time' || is_broken '2 permits, one for each slot'
}

# bats test_tags=all
@test "the same failover with wait_replicas=1: nothing that was granted is lost" {
  start_sentinels
  script_failover
  use "$url?wait_replicas=1"
  verified --ttl 6s --workers 6 --duration $((4 + 4 * slowness))s --faults none --hook failover
  [ "$status" = 0 ]
  is_held 'one holder at a time'
  is_held 'tokens grow'
}
