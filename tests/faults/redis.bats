# SPDX-License-Identifier: Apache-2.0
# Redis when something goes wrong: killed and stopped processes, servers and networks. Each test has a server of its own.
# What the commands did is judged by their histories (verify check): no act of one holder after the next one's BEGIN, tokens
# grow. The ttl is 2 s: TERM is due 1.48 s and KILL 1.81 s after the last confirmed send.
load ../support/cli
load ../support/faults
load ../support/redis

setup() {
  set_world
  script_section
  script_work
  start_redis one
  use "$(redis_url one)"
}
teardown() { end_world; }

# --- processes -------------------------------------------------------------------------------------------------------

@test "supervisor SIGKILLed: its command is ended, then the lock is free at once, long before the lease ends" { supervisor_killed 1000; }

# bats test_tags=all
@test "supervisor SIGKILLed over a grandchild that ignores TERM: free when it is gone, and not before" {
  supervisor_killed 1000 sh -c 'section --for 30 --stubborn & wait'
  grep -q TERM history
}

@test "keeper SIGKILLed: the command is ended before its lease is, 79; the next one comes within the ttl" { keeper_killed 2500; }
@test "keeper SIGSTOPped: the same" { keeper_stopped; }
@test "supervisor and command SIGSTOPped beyond the ttl: the keeper renews, and work goes on" { supervisor_and_command_stopped 3; }
@test "everything SIGSTOPped beyond the ttl: on waking the loss is seen first, 79, and a higher token has passed" { everything_stopped; }
@test "supervisor and keeper SIGKILLed: the kernel ends the command, the lock is free within the ttl" { supervisor_and_keeper_killed 3000; }
@test "a waiter that stays SIGSTOPped when its turn has come: its keeper gives the lock to the next one, 79" { stopped_waiter_passed_over; }

@test "several keys: what is had of them is kept for as long as the others are waited for" {
  hold_lock k2
  start_watched b dlock run -q --ttl "${slowness}s" k1 k2 -- true
  wait_until is_held k1
  run -75 dlock run -q -w "$((3 * slowness))" k1 -- true
  let_go
  [ "$(how_ended b)" = "exit 0" ]
}

# bats test_tags=all
@test "held without a command (dlock hold) for longer than a ttl: kept" {
  hold_lock --ttl 2s k
  run -75 dlock run -q -w 3 k -- true
  let_go
}

@test "--fair: in order of arrival, and nobody is let by" { fair_order; }

# bats test_tags=all
@test "--fair: in order of arrival also after an outage with data, whoever comes back first" {
  start_redis durable --appendonly yes --appendfsync always
  use "$(redis_url durable)"
  for _ in 1 2 3; do
    fair_queue
    kill_redis durable
    exec {holder_stdin}>&- # its release is the first thing that the server is asked
    restart_redis durable
    wait "$holder"
    served_in_order
    rm order w[1-5]
  done
}

# bats test_tags=all
@test "--fair: in order of arrival after an outage with data, also when new ones take and free the lock before the waiters are back" {
  start_redis durable --appendonly yes --appendfsync always
  use "$(redis_url durable)"
  for _ in 1 2 3; do
    fair_after restarted_with_data
    rm order w[1-5]
  done
}
restarted_with_data() {
  kill_redis durable
  restart_redis durable
}

# bats test_tags=all
@test "--fair: a waiter that was killed during an outage does not hold the others up for good" {
  start_redis durable --appendonly yes --appendfsync always
  use "$(redis_url durable)"
  fair_queue
  kill_redis durable
  kill -KILL "$(keeper_of w1)" "$(<w1.pid)"
  exec {holder_stdin}>&-
  restart_redis durable
  wait "$holder"
  for i in 2 3 4 5; do [ "$(how_ended "w$i")" = "exit 0" ]; done
  [ "$(tr -d '\n' <order)" = 2345 ]
}

@test "a server away for longer than the lease under a waiter: the command begins with a lease of its own" {
  DLOCK_BACKEND=$(redis_url one) hold_lock k
  start_watched b dlock run -q -w 30 --ttl 2s k -- sleep 2
  wait_until has 1 waiters k
  kill_redis one
  started+=("$holder")
  sleep 3
  restart_redis one
  [ "$(how_ended b)" = "exit 0" ]
}

# bats test_tags=all
@test "the right to read the key is taken away for a moment under a holder: that is no loss" {
  start_watched a dlock run --ttl $((6 * slowness))s --events "$PWD/events" k -- work command
  wait_until filled command.pid
  local ends
  ends=$(holder_field k until)
  redis_cli one acl setuser default -get
  wait_until grep -q '"unrenewed"' events
  redis_cli one acl setuser default +get
  wait_until eval '[[ "$(holder_field k until)" > "$ends" ]]'
  touch go
  [ "$(how_ended a)" = "exit 0" ]
}

# bats test_tags=all
@test "a waiter SIGKILLed leaves nothing that keeps others waiting" {
  hold_section a
  wait_section b
  kill -KILL "$(pid_of b)"
  kill -TERM "$(pid_of a)"
  how_ended a
  run -0 dlock run -w 10 k -- true
}

# --- the server ------------------------------------------------------------------------------------------------------

@test "server SIGKILLed and restarted with its data: the lease goes on, nobody notices" {
  start_redis durable --appendonly yes --appendfsync always
  use "$(redis_url durable)"
  start_watched a dlock run --ttl 2s k -- section --for 3
  wait_until begun 1
  kill_redis durable
  restart_redis durable
  run -75 dlock run -q -n k -- true
  [ "$(how_ended a)" = "exit 0" ]
  run -0 dlock run -n k -- section
  history check --sections 2
}

# bats test_tags=all
@test "server SIGKILLed and restarted with its data: --at-least keeps, --once remembers" {
  start_redis durable --appendonly yes --appendfsync always
  use "$(redis_url durable)"
  kept_over_restart durable restart_redis --once s
}

@test "server restarted empty: the next renewal says lost, 79, and tokens go on upwards" {
  hold_section a
  kill_redis one
  restart_redis one
  [ "$(how_ended a)" = "exit 79" ]
  run -0 dlock run -w 5 k -- section
  history check --sections 2
}

# The next renewal would come after 200 s.
# bats test_tags=all
@test "server restarted empty: a holder of any mode hears of it by the end of its connection, 79" {
  local mode i=0
  for mode in '' --shared '--permits 3'; do
    # shellcheck disable=SC2086
    start_watched "h$((++i))" dlock run --ttl 10m $mode "k$i" -- sh -c "touch held$i; exec sleep 300"
    wait_until test -e "held$i"
  done
  kill_redis one
  restart_redis one
  for i in 1 2 3; do [ "$(how_ended "h$i")" = "exit 79" ]; done
}

@test "server gone for good: the command is ended before its lease is, 79, with the reason" {
  start_watched a dlock run --ttl 2s k -- section --for 30 2>said
  wait_until begun 1
  kill_redis one
  [ "$(how_ended a)" = "exit 79" ]
  grep -q 'LOST k' said
  run -69 dlock run --connect-timeout 500ms k -- true
  [[ "$output" == *"127.0.0.1:$(port_of one)"*refused* ]]
}

@test "server SIGSTOPped for less than the lease: nothing happens" {
  start_watched a dlock run --ttl 6s k -- section --for 3
  wait_until begun 1
  kill -STOP "$(pid_of_redis one)"
  sleep 1
  kill -CONT "$(pid_of_redis one)"
  [ "$(how_ended a)" = "exit 0" ]
}

@test "a server that accepts and says nothing: 69 after the time-out, and nothing was run" {
  kill -STOP "$(pid_of_redis one)"
  run -69 dlock run -n --connect-timeout 300ms k -- touch ran
  [ ! -e ran ]
  run -69 dlock run -w 1 --connect-timeout 300ms k -- touch ran
  [ ! -e ran ]
}

@test "SCRIPT FLUSH under a holder and a waiter: neither notices" {
  start_watched a dlock run --ttl 2s k -- section --for 2
  wait_until begun 1
  wait_section b
  redis_cli one script flush
  [ "$(how_ended a)" = "exit 0" ]
  redis_cli one script flush
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "memory is full: acquire is refused with the reason, renew and release still work" { memory_is_full; }
# bats test_tags=all
@test "memory is full: an operator frees what is held, of every mode" {
  local mode
  for mode in --exclusive --shared --permits=2 --lock-delay=1s; do
    echo "$mode"
    run -0 dlock acquire --ttl 5m "$mode" k
    redis_cli one config set maxmemory 1
    run -0 dlock force-release --yes k
    redis_cli one config set maxmemory 0
    run -0 dlock run -w 10 k -- true
  done
}

# bats test_tags=all
@test "40 000 other keys that expire: a dead holder's lock is taken when its lease ends, with no message to say so" {
  seq 40000 | awk '{ print "SET other:" $1 " v PX 600000" }' | redis_cli one --pipe
  redis_cli one set k dead px 1500
  local begin=${EPOCHREALTIME/./}
  run -0 dlock run -q -w 10 k -- true
  local ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
  echo "after $ms ms"
  [ "$ms" -lt $((2500 * slowness)) ]
}

calls_of() { redis_cli one info commandstats | tr -d '\r' | sed -n "s/^cmdstat_$1:calls=\([0-9]*\),.*/\1/p"; } # COMMAND

# bats test_tags=all
@test "a server that can track too few keys: holders and waiters ask it some times a second, not without end, and hear the rest" {
  redis_cli one config set tracking-table-max-keys 1
  local n
  for n in 1 2; do
    start_watched "holder$n" dlock run --ttl 60s "k$n" -- sleep 60
    redis_cli one set "theirs$n" x px 60000
    start_watched "waiter$n" dlock run -q --ttl 60s "theirs$n" -- true
    wait_until has 1 waiters "theirs$n"
  done
  sleep 0.4 # a holder listens 200 ms after its grant
  redis_cli one config resetstat
  sleep 0.5
  [ "$(calls_of get)" -lt 1000 ] # 200 at the most, where it was some thousands
  redis_cli one del k1 theirs2
  [ "$(how_ended holder1)" = "exit 79" ]
  [ "$(how_ended waiter2)" = "exit 0" ]
}

@test "revoke on a full server: 69 within its time, with the force-release that works there" {
  start_watched a dlock run -q --ttl 20s k -- sleep 60
  wait_until is_held k
  redis_cli one config set maxmemory 1
  run -69 dlock revoke -w 2s k
  [[ "$output" == *"out of memory"*"dlock force-release k"* ]]
  run -0 dlock force-release --yes k
  [ "$(how_ended a)" = "exit 79" ]
}

# bats test_tags=all
@test "twenty holders at a server that can track one key: each asks once a second at the most, and hears that it lost its lock" {
  redis_cli one config set tracking-table-max-keys 1
  local n
  for n in {1..20}; do start_watched "holder$n" dlock run --ttl 60s "k$n" -- sleep 60; done
  for n in {1..20}; do wait_until is_held "k$n"; done
  sleep 3 # their pauses have grown
  redis_cli one config resetstat
  sleep 2
  echo "$(calls_of get) GETs in 2 s"
  [ "$(calls_of get)" -lt 100 ]
  redis_cli one del k1
  [ "$(how_ended holder1)" = "exit 79" ]
}

# bats test_tags=all
@test "CLIENT KILL on everybody: the holder keeps the lock, the waiter its place" { everybody_is_killed; }

# --- operators -------------------------------------------------------------------------------------------------------

@test "the key is deleted by hand: 79, and the lock is not made again" {
  hold_section a
  redis_cli one del k
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(redis_cli one exists k)" = 0 ]
}

@test "the key is overwritten by somebody else: 79, and theirs is left alone" {
  hold_section a
  redis_cli one set k theirs px 60000
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(redis_cli one get k)" = theirs ]
  run -75 dlock run -q -n k -- true
}

has_renewed() { [ "$(calls_of eval)" ]; } # since the counters began anew
# bats test_tags=all
@test "force-release, revoke, DEL: the holder hears of it within a second also after a renewal" {
  local n=0 how before
  for how in 'dlock force-release --yes k' "dlock revoke -w $((10 * slowness))s k" 'redis_cli one del k'; do
    start_watched "a$((++n))" dlock run -q --ttl $((12 * slowness))s k -- sleep 300
    wait_until is_held k
    redis_cli one config resetstat
    wait_until has_renewed
    before=$(now_ms)
    # shellcheck disable=SC2086 # the words of a command
    run -0 $how
    [ "$(how_ended "a$n")" = "exit 79" ]
    echo "$how: after $(($(now_ms) - before)) ms"
    (($(now_ms) - before < 1000 * slowness))
  done
}

# Some connection has the server report changes: the t of CLIENT LIST.
is_tracked() { redis_cli one client list | grep -q ' flags=[A-Za-z]*t'; }
@test "only the first of a holder's two connections is killed: it hears of a force-release within a second" {
  local n=0 layout before
  for layout in '' '?layout=redisson'; do
    use "$(redis_url one)$layout"
    start_watched "a$((++n))" dlock run -q --ttl $((30 * slowness))s k -- sleep 300
    wait_until is_tracked
    redis_cli one client kill type normal
    wait_until is_tracked
    before=$(now_ms)
    run -0 dlock force-release --yes k
    [ "$(how_ended "a$n")" = "exit 79" ]
    echo "after $(($(now_ms) - before)) ms"
    (($(now_ms) - before < 1000 * slowness))
  done
}

# --- the network -----------------------------------------------------------------------------------------------------

through_proxy() {
  start_proxy one
  direct=$(redis_url one)
  use "$(redis_url proxy)"
}

@test "black hole: the command is ended before its lease is, 79; the next one does not overlap" { through_proxy; black_hole hold; }
# bats test_tags=all
@test "black hole over a command that ignores TERM: KILL before the lease ends" { through_proxy; black_hole drop --stubborn; }
# bats test_tags=all
@test "a stall of 0.4 ttl that heals costs nothing" { through_proxy; stall_that_heals 3 4 1.2; }
@test "late messages of a lost holder change nothing for the next one" { through_proxy; late_messages_of_a_lost_holder; }
@test "an outage under a waiter, shorter than its wait: refused" { through_proxy; outage_under_a_waiter refuse; }
# bats test_tags=all
@test "an outage under a waiter, shorter than its wait: silent" { through_proxy; outage_under_a_waiter hold; }
have_hung() { [ "$(network hung)" -ge "$1" ]; } # N connections
# bats test_tags=all
@test "new connections hang, accepted and never answered: a healthy lock with a short lease goes on" {
  through_proxy
  network hang 1
  # A first connection that is given up because the machine is slow would leave none that works.
  start_watched a dlock run --ttl "$((2 * slowness))s" --connect-timeout "$((20 * slowness))s" k -- \
    section --for $((6 * slowness)) 2>said
  wait_until have_hung 2
  [ "$(how_ended a)" = "exit 0" ]
  cat said
  [ ! -s said ]
  DLOCK_BACKEND=$direct is_free k
}
# bats test_tags=all
@test "connections reset, again and again: holder and waiter go on" { through_proxy; connections_reset 2s 6 8 0.2; }

@test "cut behind every single message, in both directions: ran once, released, nobody is told otherwise" {
  through_proxy
  life_cut_everywhere 1s 9
}

# bats test_tags=all
@test "acquire and release from the command line, cut behind every message: no lease is left behind" {
  through_proxy
  lease_cut_everywhere 4
}

@test "a server that falls silent under a waiter: 69, a second behind the end of the wait at the latest" {
  local before
  through_proxy
  DLOCK_BACKEND=$direct hold_lock k
  before=$(now_ms)
  start_watched waiter dlock run -q -w "$slowness" k -- touch ran
  wait_until is_queued
  network hold
  [ "$(how_ended waiter)" = "exit 69" ]
  echo "after $(($(now_ms) - before)) ms"
  (($(now_ms) - before < 1250 + 1200 * slowness))
  let_go
}

@test "acquire: a server that falls silent right after the grant does not matter any more, and the handle is good" {
  through_proxy
  silent_behind_the_grant 3
}

# bats test_tags=all
@test "a server that hangs over a request which nobody waits for any more, and goes on: nothing is held" {
  kill -STOP "$(pid_of_redis one)"
  run -69 dlock run -n --connect-timeout 300ms k -- touch ran
  run -69 dlock acquire -n --connect-timeout 300ms --ttl 60s k
  kill -CONT "$(pid_of_redis one)"
  wait_until redis_says one PONG ping
  [ ! -e ran ]
  [ "$(redis_cli one exists k)" = 0 ]
  run -0 dlock run -n k -- true
}

# --- events ----------------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "a renewal that is not confirmed, a loss by force and a server that is gone are events" {
  export DLOCK_EVENTS=$PWD/events
  script_victims
  recorded() { jq -e "select(.event == \"$1\")" events >/dev/null; }
  why() { jq -r "select(.event == \"$1\") | .why" events; }
  start_watched first dlock run -q --ttl 15s k -- note first
  wait_until recorded granted
  kill -STOP "$(pid_of_server one)"
  wait_until recorded unrenewed
  kill -CONT "$(pid_of_server one)"
  run -0 dlock force-release --yes --reason 'hangs since 2.4' k
  [[ "$output" == *"the old holder "*": pid "* ]]
  [ "$(how_ended first)" = "exit 79" ]
  kill_server one
  run -69 dlock run -n k -- touch ran
  [ "$(jq -r .event events | sort -u | xargs)" = "ended force-released granted lost signalled unavailable unrenewed" ]
  [ "$(jq -r .store events | sort -u)" = "$DLOCK_BACKEND" ]
  [[ "$(why unrenewed)" == *"in time"* ]]
  [[ "$(why lost)" == *"hangs since 2.4"* ]]
  [[ "$(why unavailable)" == *refused* ]]
  run -0 dlock history
  [[ "$output" == *"LOST: "*"hangs since 2.4"*"unavailable"* ]]
}
