# SPDX-License-Identifier: Apache-2.0
# dlock verify says yes to a right store and no to a wrong one, and leaves nothing behind.
load ../support/cli
load ../support/redis
load ../support/deployments
load ../support/mounts

setup() {
  set_world
  export TMPDIR=$BATS_TEST_TMPDIR # where verify makes its directory, which is the HOME of its processes
}
teardown() {
  end_world
}

verified() { # [OPTION...]
  run --separate-stderr dlock verify --ttl 3s --json "$@"
  jq -c . <<<"$output" >&2
  echo "$stderr" >&2
}
is_held() { jq -e ".promises[] | select(.promise == \"$1\") | .tried > 0 and .broken == 0" <<<"$output"; } # PROMISE
is_broken() { jq -e ".promises[] | select(.promise == \"$1\") | .broken > 0 and (.first.history | length) > 1" <<<"$output"; }
left_behind() { grep -lzsF "HOME=$BATS_TEST_TMPDIR/dlock-verify." /proc/[0-9]*/environ || compgen -G "$BATS_TEST_TMPDIR/dlock-verify.*"; }

@test "this machine holds: no network, no keepers, everything else" {
  verified --duration 5s --seed 3
  [ "$status" = 0 ]
  local promise
  for promise in exclusion tokens ends hand-over order sharing permits stock; do is_held "$promise"; done
  [ "$(jq '.not_tried | length' <<<"$output")" = 2 ]
  [ "$(jq .seed <<<"$output")" = '"3"' ]
  [ -z "$(left_behind)" ]
}

@test "verify: no room for its history, or for the password, is 71 and says so, and leaves nothing behind" {
  run -71 bash -c 'ulimit -f 0; dlock verify 2>&1 | cat; exit "${PIPESTATUS[0]}"'
  [[ "$output" == "dlock: cannot write $BATS_TEST_TMPDIR/dlock-verify."*": File too large"*"ulimit -f"* ]]
  DLOCK_PASSWORD=$(printf 'x%.0s' {1..2000}) run -71 bash -c 'ulimit -f 1; dlock verify -b redis://127.0.0.1:1 2>&1 | cat; exit "${PIPESTATUS[0]}"'
  [[ "$output" == "dlock: cannot write $BATS_TEST_TMPDIR/dlock-verify."*"/password: File too large"* ]]
  [ -z "$(left_behind)" ]
}

@test "verify: a history that cannot be written any more ends it without a verdict" {
  # shellcheck disable=SC2016 # for the inner shell
  run --separate-stderr -71 bash -c 'ulimit -f 8; dlock verify --duration 60s --workers 4 --json | cat; exit "${PIPESTATUS[0]}"'
  [ "$output" = "" ]
  [[ "$stderr" == *"cannot write $BATS_TEST_TMPDIR/dlock-verify."*"/history"* ]]
  [ -z "$(left_behind)" ]
}

# bats test_tags=all
@test "verify: its workers obey no configuration, that of the system neither" {
  mounts_apart || skip "no right to mount"
  cp -a /etc etc
  mkdir -p etc/dlock
  printf '%s\n' '[defaults]' 'on-lost = "ignore"' 'at-least = "3s"' 'retry-interval = "20s"' 'tries = 1' \
    '[key."dlock.verify/*"]' 'backend = "redis://127.0.0.1:1"' 'max-hold = "1ms"' >etc/dlock/config.toml
  # shellcheck disable=SC2016 # for the shell among the mounts
  verified_apart=("${apart[@]}" bash -c 'mount --bind etc /etc && exec dlock "$@"' -)
  run -0 "${verified_apart[@]}" config show
  [[ "$output" == *"at-least"*"/etc/dlock/config.toml"* ]]
  run --separate-stderr "${verified_apart[@]}" verify --duration 2s --workers 4 --faults none --json
  echo "$output" "$stderr" >&2
  [ "$status" = 0 ]
  is_held exclusion
  is_held ends
}

# bats test_tags=all
@test "a Redis holds, through a network that fails" {
  start_redis one
  local name=localhost # and where this machine has a name for the same address, one that has to be looked up
  ! getent ahosts "$(uname -n)" | grep -q '^127\.0\.0\.1 ' || name=$(uname -n)
  verified -b "redis://$name:$(port_of one)" --duration $((10 * slowness))s
  [ "$status" = 0 ]
  is_held exclusion
  is_held tokens
  [ "$(jq '[.faults[]] | add' <<<"$output")" -ge 2 ]
  [ "$(jq '.faults | has("stall") or has("cut") or has("delay") or has("oneway")' <<<"$output")" = true ]
}

# bats test_tags=all
@test "a cluster holds, and each of its nodes is behind a network that fails" {
  start_cluster
  verified -b "$url" --duration $((5 * slowness))s --faults cut,stall,delay,oneway
  [ "$status" = 0 ]
  is_held exclusion
  [ "$(jq '.not_tried | length' <<<"$output")" = 0 ]
  [ "$(jq '[.faults[]] | add' <<<"$output")" -gt 1 ]
}

# bats test_tags=all
@test "killed: no process of it is left, and its keys are free" {
  start_redis one
  use "$(redis_url one)"
  start_watched end dlock verify --ttl 2s --duration 60s
  wait_until has 1 holders dlock.verify/one
  begun_some() { grep -qs BEGIN "$BATS_TEST_TMPDIR"/dlock-verify.*/history; }
  wait_until begun_some
  kill -KILL "$(pid_of end)"
  gone() { [ -z "$(left_behind)" ]; }
  wait_until gone
  # A worker that had just been killed by verify, with its keeper, has its key until the lease ends.
  nothing_held() { [ -z "$(dlock inspect --json)" ]; }
  wait_until nothing_held
  run -0 dlock inspect --json
  [ "$output" = "" ]
}

# bats test_tags=all
@test "one at a time, and what is asked for must make sense" {
  use "local:$locks"
  mkfifo full
  exec {full}<>full
  "${python[@]}" -c 'import os; os.write(os.open("full", os.O_WRONLY | os.O_NONBLOCK), bytes(1 << 20))'
  start_watched end bash -c 'exec dlock verify --ttl 2s --duration 60s >full'
  wait_until has 1 holders dlock.verify/one
  run -75 dlock verify
  [[ "$output" == *"another dlock verify is running"* ]]
  kill "$(pid_of end)"
  none_left() { [ -z "$(left_behind)" ]; }
  wait_until none_left
  # What it has to say nobody reads, and it has nothing else left to do.
  kill "$(pid_of end)"
  [ "$(how_ended end)" = "signal 15" ]
  # One that is ended early judges what it has seen.
  start_watched early dlock verify --ttl 2s --duration 60s
  wait_until has 1 holders dlock.verify/one
  kill "$(pid_of early)"
  [ "$(how_ended early)" = "exit 143" ]
  run -64 dlock verify --faults kil
  [[ "$output" == *"kill, stop, cut, stall, delay, oneway, revoke"* ]]
  run -64 dlock verify --workers 1
  for option in --faults --hook --svg; do
    run -64 dlock verify "$option" ""
    [[ "$output" == *"$option: the "*"is empty"* ]]
  done
  run -69 dlock verify -b redis://127.0.0.1:1
}

# bats test_tags=all
@test "verify: a signal ends it while it waits for a store that has gone" {
  start_redis one
  start_watched end dlock verify -b "$(redis_url one)" --ttl 2s --duration 4s --faults none --workers 2 --hook "kill -STOP $(pid_of_redis one) #"
  counting() { # it asks for the stock, which is done when all workers have ended
    local child
    for child in $(cat "/proc/$(pid_of end)/task/$(pid_of end)/children"); do
      ! tr '\0' ' ' <"/proc/$child/cmdline" | grep -q 'stock show' || return 0
    done
    return 1
  }
  patience=60 wait_until counting
  kill "$(pid_of end)"
  [ "$(how_ended end)" = "signal 15" ]
  kill -CONT "$(pid_of_redis one)"
  none_left() { [ -z "$(left_behind)" ]; }
  wait_until none_left
}

# bats test_tags=all
@test "verify: a picture that goes nowhere is not a failure" {
  verified --duration 1s --workers 2 --faults none --svg /dev/null
  [ "$status" = 0 ]
}

# --- stores that are wrong on purpose: each is caught ------------------------------------------------------------------

# bats test_tags=all
@test "caught: a Redis that is flushed meanwhile" {
  start_redis one
  verified -b "$(redis_url one)" --duration 4s --faults none \
    --hook "for i in \$(seq 20); do redis-cli -p $(port_of one) flushall; sleep 0.05; done #"
  [ "$status" = 1 ]
  is_broken exclusion
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
  lost=\$(comm -23 <(at $(port_of one) mget dlock.verify/{x,q} | sort) <(at $(port_of two) mget dlock.verify/{x,q} | sort))
done
until at $(port_of s1) sentinel failover main | grep -q OK; do sleep 0.1; done
until at $(port_of two) info replication | grep -q 'state=online'; do sleep 0.1; done
SCRIPT
}

# bats test_tags=all
@test "caught: a Sentinel failover that loses what was confirmed" {
  # Who had what was lost ends as soon as its keeper finds that out: another one need not have come in before.
  local _
  for _ in {1..6}; do
    start_sentinels
    script_failover
    verified -b "$url" --ttl 6s --workers 6 --duration 8s --faults none --hook failover
    [ "$status" = 0 ] || break
  done
  [ "$status" = 1 ]
  is_broken exclusion || is_broken sharing || is_broken permits
}

# bats test_tags=all
@test "the same failover with wait_replicas=1: nothing that was granted is lost" {
  start_sentinels
  script_failover
  verified -b "$url?wait_replicas=1" --ttl 6s --workers 6 --duration 8s --faults none --hook failover
  [ "$status" = 0 ]
  is_held exclusion
  is_held tokens
}

@test "caught: a keeper that grants what it has not" {
  install_keeper memory_keeper
  verified -b redis://memory --duration 3s --faults none --svg picture.svg
  [ "$status" = 1 ]
  is_broken exclusion
  grep -q 'exclusion broken' picture.svg
}

# bats test_tags=all
@test "caught: a keeper that renews too late" {
  start_redis one
  local real
  real=$(dirname "$(realpath "$DLOCK")")/../libexec/dlock
  install_keeper memory_keeper
  cat >"$BATS_TEST_TMPDIR/prefix/libexec/dlock/dlock-redis" <<SCRIPT
#!/bin/bash
[ "\$1" != --keeper ] || (sleep 0.2; kill -STOP \$\$; sleep 4; kill -CONT \$\$) </dev/null &>/dev/null 3>&- &
exec $real/dlock-redis "\$@"
SCRIPT
  chmod +x "$BATS_TEST_TMPDIR/prefix/libexec/dlock/dlock-redis"
  # With this seed the first who get x and q hold them for longer than a lease is believed without a renewal.
  verified -b "$(redis_url one)" --duration 3s --faults none --seed 48417
  [ "$status" = 1 ]
  is_broken ends
}
