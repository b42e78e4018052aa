# SPDX-License-Identifier: Apache-2.0
# Redisson's layout when something goes wrong: killed processes, servers and networks. Each test has a server of its own.
# What the commands did is judged by their histories (verify check). A RFairLock has a list of who waits.
load ../support/cli
load ../support/faults
load ../support/redis

setup() {
  set_world
  script_section
  start_redis one
  use "$(redis_url one)?layout=redisson&kind=fair"
}
teardown() { end_world; }

through_proxy() {
  start_proxy one
  direct="$(redis_url one)?layout=redisson&kind=fair"
  use "$(redis_url proxy)?layout=redisson&kind=fair"
}

@test "supervisor SIGKILLed: its command is ended, then the lock is free at once, long before the lease ends" { supervisor_killed 1000; }
# bats test_tags=all
@test "keeper SIGKILLed: the command is ended before its lease is, 79; the next one comes within the ttl" { keeper_killed 2500; }
# bats test_tags=all
@test "supervisor and command SIGSTOPped beyond the ttl: the keeper renews, and work goes on" { supervisor_and_command_stopped 3; }
# bats test_tags=all
@test "everything SIGSTOPped beyond the ttl: on waking the loss is seen first, 79, and a higher token has passed" {
  use "$(redis_url one)?layout=redisson&kind=fenced"
  everything_stopped
}
# bats test_tags=all
@test "black hole: the command is ended before its lease is, 79; the next one does not overlap" { through_proxy; black_hole hold; }
# bats test_tags=all
@test "late messages of a lost holder change nothing for the next one" { through_proxy; late_messages_of_a_lost_holder; }

# bats test_tags=all
@test "memory is full: acquire is refused with the reason, renew and release still work" { memory_is_full; }
# bats test_tags=all
@test "every kind: memory is full: what is held is renewed and given back, and nothing new is had" {
  local kind words owner _
  for kind in lock fenced fair rw read; do
    words=()
    [ "$kind" != read ] || words=(-s)
    use "$(redis_url one)?layout=redisson&kind=${kind/#read/rw}"
    echo "$kind"
    read -r owner _ < <(dlock acquire --ttl 5m "${words[@]}" k)
    redis_cli one config set maxmemory 1
    run -0 dlock renew --ttl 10m --owner "$owner" k
    run -69 dlock run -n "${words[@]}" other -- touch ran
    [[ "$output" == *"out of memory"* ]]
    run -0 dlock release --owner "$owner" k
    redis_cli one config set maxmemory 0
    is_free k
    redis_cli one flushall
  done
  [ ! -e ran ]
}
# bats test_tags=all
@test "CLIENT KILL on everybody: the holder keeps the lock, and the waiter comes right behind it" { everybody_is_killed; }

@test "server restarted empty: the next renewal says lost, 79" {
  hold_section a
  kill_redis one
  restart_redis one
  [ "$(how_ended a)" = "exit 79" ]
}

# bats test_tags=all
@test "every kind: its data is flushed, expires or is given to others while it is held: 79, and nothing is made anew" {
  local kind what words n=0
  while read -r kind what; do
    words=()
    [ "$kind" != read ] || words=(-s)
    use "$(redis_url one)?layout=redisson&kind=${kind/#read/rw}"
    n=$((n + 1))
    start_watched "holder$n" dlock run -q --ttl 2s "${words[@]}" k -- section --for 30
    wait_until begun $n
    # shellcheck disable=SC2086  # the words of a command
    redis_cli one $what
    [ "$(how_ended "holder$n")" = "exit 79" ]
    redis_says one 0 exists k
    redis_cli one flushall
  done <<'CASES'
lock flushall
lock pexpire k 1
fenced del k
fair pexpire k 1
rw flushall
rw pexpire k 1
read del k
CASES
}

have_renewed() { # N holders, since the counters began anew
  local calls
  calls=$(redis_cli one info commandstats | tr -d '\r' | sed -n 's/^cmdstat_eval:calls=\([0-9]*\),.*/\1/p')
  [ "${calls:-0}" -ge "$1" ]
}
# bats test_tags=all
@test "every kind: DEL, force-release: the holder hears of it within a second also after a renewal" {
  local kind before
  for kind in lock fenced fair rw; do
    use "$(redis_url one)?layout=redisson&kind=$kind"
    start_watched "$kind" dlock run -q --ttl $((12 * slowness))s "k$kind" -- sleep 300
    wait_until is_held "k$kind"
  done
  redis_cli one config resetstat
  wait_until have_renewed 4
  for kind in lock fenced fair rw; do
    use "$(redis_url one)?layout=redisson&kind=$kind"
    before=$(now_ms)
    if [ "$kind" = lock ]; then redis_cli one del klock; else run -0 dlock force-release --yes "k$kind"; fi
    [ "$(how_ended "$kind")" = "exit 79" ]
    echo "$kind: after $(($(now_ms) - before)) ms"
    (($(now_ms) - before < 1000 * slowness))
  done
}

@test "a dead waiter of a fair lock is passed over after the 5 s of Redisson's rule, and one that lives keeps its place" {
  use "$(redis_url one)?layout=redisson&kind=fair"
  hold_lock k
  start_watched dead dlock run -q k -- true
  wait_until has 1 waiters k
  start_watched next dlock run -q k -- true
  wait_until has 2 waiters k
  kill -KILL "$(keeper_of dead)" "$(pid_of dead)"
  sleep 1
  local before
  before=$(now_ms)
  let_go
  [ "$(how_ended next)" = "exit 0" ]
  (($(now_ms) - before < 6000))
}
