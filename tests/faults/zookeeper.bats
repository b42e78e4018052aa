# SPDX-License-Identifier: Apache-2.0
# ZooKeeper when something goes wrong: killed and stopped processes, servers and networks. What the commands did is judged by
# their histories (verify check): no act of one holder after the next one's BEGIN, tokens grow. A tick is 0.5 s; a session of
# 2 s ends within 2.5 s at the server, and a command's lease after two thirds of it. An ensemble: zookeeper_ensemble.bats.
load ../support/cli
load ../support/faults
load ../support/zookeeper
load ../support/zookeeper_peers
load ../support/mounts

setup_file() { in_file start_zookeeper one; }
teardown_file() { in_file kill_server one; }
setup() {
  set_world
  share_file_servers
  script_section
  key=k$BATS_TEST_NUMBER
  use "$(zookeeper_url one)"
}
teardown() { end_world; }

# A server of the test's own, which it may kill.
own_server() { # [LINE...]
  start_zookeeper own "$@"
  use "$(zookeeper_url own)"
}

# --- processes -------------------------------------------------------------------------------------------------------

@test "supervisor SIGKILLed: its command is ended, then the lock is free at once, long before the session ends" { supervisor_killed 1000; }

# bats test_tags=all
@test "servers that allow only sessions far shorter than the ttl: the command runs as long as it likes" {
  own_server "maxSessionTimeout=$((3000 * slowness))"
  run -3 dlock run -n "$key" -- sh -c "sleep $((4 * slowness)); exit 3"
  [ "$output" = "" ]
}

# bats test_tags=all
@test "a waiter SIGKILLed leaves nothing that keeps others waiting for longer than its session" {
  hold_section a
  wait_section b
  kill -KILL "$(pid_of b)"
  kill -TERM "$(pid_of a)"
  how_ended a
  run -0 dlock run -w 10 "$key" -- true
}

# bats test_tags=all
@test "a keeper has its own thread and the two of its client library, and its session lives, however long the lock is waited for and held; who comes beside maxClientCnxns is told so" {
  own_server maxClientCnxns=3
  start_watched a dlock run --ttl "$((2 * slowness))s" "$key" -- sh -c 'touch begun; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e begun
  start_watched b dlock run --ttl "$((2 * slowness))s" "$key" -- touch ran
  wait_until keeper_of b
  [ "$(cat "/proc/$(keeper_of a)/status" "/proc/$(keeper_of b)/status" | awk '/^Threads:/ { sum += $2 } END { print sum }')" = 6 ]
  wait_until waits_here
  local place
  place=$(waiting)
  # A session is one and a half ttls. What a server that hangs up looks like depends on the moment in which it does.
  start_watched c dlock run "$key-c" -- sh -c 'touch third; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e third
  local end=$((SECONDS + 4 * slowness))
  while [ "$SECONDS" -lt "$end" ]; do
    run -69 dlock run -n other -- touch ran
    [[ "$output" == *"maxClientCnxns"* ]]
    sleep 0.1
  done
  kill -TERM "$(pid_of c)"
  how_ended c
  wait_until still_waits
  [ ! -e ran ]
  touch go
  [ "$(how_ended a)/$(how_ended b)" = 'exit 0/exit 0' ]
}
# By their nodes, which go with their sessions. The server answers nobody while it still counts a connection that has just
# ended.
still_waits() { [ "$(waiting)" = "$place" ]; }
waiting() { dlock inspect --json "$key" | jq -c '[.holders[], .waiters[] | .token]'; }
waits_here() { [[ "$(waiting)" == *,* ]]; } # beside a holder

# --- the server ------------------------------------------------------------------------------------------------------

@test "server SIGKILLed and restarted: the session goes on, nobody notices" {
  own_server
  start_watched a dlock run --ttl 12s "$key" -- section --for 6
  wait_until begun 1
  kill_server own
  restart_zookeeper own
  run -75 dlock run -q -n "$key" -- true
  [ "$(how_ended a)" = "exit 0" ]
  run -0 dlock run -n "$key" -- section
  history check --sections 2
}

# bats test_tags=all
@test "server out of reach for two seconds: a holder is asked to end, and told that it was freed, as before" {
  own_server
  local how
  for how in 'revoke --wait 10s' 'force-release --yes'; do
    start_watched a dlock run -q --ttl 60s "$key" -- sh -c 'touch begun; until [ -e go ]; do sleep 0.1; done'
    wait_until test -e begun
    kill_server own
    sleep 2
    restart_zookeeper own
    run -75 dlock run -q -n "$key" -- true
    sleep 1 # the holder has a connection, too
    # shellcheck disable=SC2086 # options
    run -0 dlock $how "$key"
    [ "$(how_ended a)" = "exit 79" ]
    rm begun
  done
}

# bats test_tags=all
@test "a permit is not given beside a holder whose --at-least is over, nor in its lock-delay" {
  own_server maxSessionTimeout=6000
  start_watched a dlock run --at-least 12s "$key" -- section --for 20
  wait_until begun 1
  start_watched b dlock run -w 60 --permits 2 "$key" -- section
  wait_until has 1 waiters "$key"
  [ "$(how_ended a)/$(how_ended b)" = 'exit 0/exit 0' ]
  history check --sections 2
  local freed
  start_watched c dlock run --lock-delay 3s --ttl 3s "$key" -- sh -c 'touch begun; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e begun
  start_watched d dlock run -w 60 --permits 2 "$key" -- touch ran
  wait_until has 1 waiters "$key"
  freed=$(now_ms)
  run -0 dlock force-release --yes "$key"
  [ "$(how_ended c)/$(how_ended d)" = 'exit 79/exit 0' ]
  (($(now_ms) - freed >= 2900))
}

# bats test_tags=all
@test "server SIGKILLed and restarted: --at-least keeps" {
  own_server
  kept_over_restart own restart_zookeeper
}

# bats test_tags=all
@test "server restarted without its data: the command is ended at once, 79, long before its lease is over" {
  own_server
  start_watched a dlock run --ttl 60s "$key" -- section --for 50 2>said
  wait_until begun 1
  kill_server own
  rm -rf "$servers/own/data"/version-2
  restart_zookeeper own
  local before
  before=$(now_ms)
  [ "$(how_ended a)" = "exit 79" ]
  (($(now_ms) - before < 8000 * slowness))
  grep -q "has expired" said
  run -0 dlock run -n "$key" -- true
}

# bats test_tags=all
@test "server SIGKILLed under a waiter for longer than its --connect-timeout, and restarted: it is served when its turn comes" {
  own_server
  start_watched a dlock run --ttl 12s "$key" -- section --for 6
  wait_until begun 1
  start_watched b dlock run -w 60 --connect-timeout 1s "$key" -- section 2>said
  wait_until has 1 waiters "$key"
  kill_server own
  sleep 2
  [ ! -e b ]
  restart_zookeeper own
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "server gone for good: the command is ended before its session is, 79, with the reason" {
  own_server
  start_watched a dlock run --ttl 2s "$key" -- section --for 30 2>said
  wait_until begun 1
  kill_server own
  [ "$(how_ended a)" = "exit 79" ]
  grep -q "LOST $key" said
  run -69 dlock run --connect-timeout 500ms "$key" -- true
  [[ "$output" == *"127.0.0.1:$(port_of own)"*refused* ]]
}

# bats test_tags=all
@test "server SIGSTOPped for less than the lease: nothing happens" {
  own_server
  start_watched a dlock run --ttl 6s "$key" -- section --for 4
  wait_until begun 1
  kill -STOP "$(pid_of_server own)"
  sleep 1
  kill -CONT "$(pid_of_server own)"
  [ "$(how_ended a)" = "exit 0" ]
}

@test "server SIGSTOPped for longer than the session: the command is ended meanwhile, 79; later the lock is free" {
  own_server
  hold_section a
  kill -STOP "$(pid_of_server own)"
  [ "$(how_ended a)" = "exit 79" ]
  kill -CONT "$(pid_of_server own)"
  run -0 dlock run -w 10 "$key" -- section
  history check --sections 2
}

# bats test_tags=all
@test "a server that accepts and says nothing: 69 after the time-out, and nothing was run" {
  own_server
  kill -STOP "$(pid_of_server own)"
  run -69 dlock run -n --connect-timeout 300ms "$key" -- touch ran
  [ ! -e ran ]
  run -69 dlock run -w 1 --connect-timeout 300ms "$key" -- touch ran
  [ ! -e ran ]
}

# bats test_tags=all
@test "servers that demand a login: 77, and how to give one; with a user the command runs" {
  own_server enforce.auth.enabled=true enforce.auth.schemes=digest
  run -77 dlock run -n --if-unavailable run "$key" -- touch ran
  [[ "$output" == *"the servers demand a login: zk://USER@HOST"* ]]
  run -77 dlock run "$key" -- touch ran # who would wait is told as well
  run -77 dlock inspect "$key"
  run -77 dlock stock show "$key"
  [ ! -e ran ]
  DLOCK_PASSWORD=secret run -0 dlock run -n -b "zk://user@${DLOCK_BACKEND#zk://}" "$key" -- touch ran
  [ -e ran ]
}

# bats test_tags=all
@test "server frozen when the lock is given back: the command's status, a warning, and no longer than the session" {
  own_server
  start_watched a dlock run --ttl 3s "$key" -- sh -c 'touch begun; until [ -e go ]; do sleep 0.1; done; exit 3' 2>said
  wait_until test -e begun
  kill -STOP "$(pid_of_server own)"
  local begin=${EPOCHREALTIME/./}
  touch go
  [ "$(how_ended a)" = "exit 3" ]
  local ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
  echo "after $ms ms: $(cat said)"
  [ "$ms" -lt $((4000 * slowness)) ]
  grep -q "$key" said
}

@test "an even number of addresses, most of them dead: the living one is found, each time" {
  local i dead=127.0.0.1:1 alive
  alive=127.0.0.1:$(port_of one)
  for i in {1..5}; do
    run -0 dlock run -n -b "zk://$dead,$alive" "$key" -- true
    run -0 dlock run -n -b "zk://$alive,$dead" "$key" -- true
    run -0 dlock run -n -b "zk://$dead,127.0.0.1:2,127.0.0.1:3,$alive" "$key" -- true
    run -0 dlock run -n -b "zk://$dead,127.0.0.1:2,$alive,127.0.0.1:3,127.0.0.1:4,127.0.0.1:5" "$key" -- true
  done
}

listens_at() { # ADDRESS: the server of the test's own, from its next start
  sed -i "s/^clientPortAddress=.*/clientPortAddress=$1/" "$servers/own/zoo.cfg"
  echo "$1 moves" >hosts
}
# bats test_tags=all
@test "a server comes back with another address, as a container does: holder and waiter find it by its name" {
  # shellcheck disable=SC2154 # of mounts_apart
  mounts_apart || skip "no right to mount"
  own_server
  kill_server own
  listens_at 127.0.0.2
  launch_zookeeper own
  local here=$DLOCK_BACKEND a_name
  use "${here/127.0.0.1/127.0.0.2}"
  a_name="mount --bind hosts /etc/hosts && exec dlock run -b ${here/127.0.0.1/moves} --ttl $((8 + 4 * slowness))s -w $((60 * slowness)) $key -- section"
  start_watched a "${apart[@]}" sh -c "$a_name --for $((10 + 6 * slowness))"
  wait_until begun 1
  start_watched b "${apart[@]}" sh -c "$a_name"
  wait_until has 1 waiters "$key"
  kill_server own
  listens_at 127.0.0.1
  restart_zookeeper own
  use "$here"
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

# --- operators -------------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "force-release: the holder notices at once, 79" {
  start_watched a dlock run --ttl 20s "$key" -- section --for 30
  wait_until begun 1
  wait_section b
  run -0 dlock force-release --yes "$key"
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(how_ended b)" = "exit 0" ]
}

# bats test_tags=all
@test "a key that is another session's own node: held, to run, wait, inspect and force-release alike" {
  start_watched a dlock run -b "$(zookeeper_url one)?recipe=simple" --ttl 20s "$key" -- section --for 30
  wait_until begun 1
  run -75 dlock run -n "$key" -- touch ran
  [[ "$output" == *"is held by"* ]]
  run -75 dlock wait -w 200ms "$key"
  run -0 dlock inspect "$key"
  [[ "$output" == *section* ]]
  start_watched b dlock run -q "$key" -- section
  nap 500000
  run -0 dlock force-release --yes "$key"
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(how_ended b)" = "exit 0" ]
  [ ! -e ran ]
}

# Each of these took a second longer: half of the force-releases, and every release.
# bats test_tags=all
@test "force-release waits for nobody, nor does a release right after acquire" {
  local turn before in_time=0
  for turn in 1 2 3 4 5 6; do
    start_watched "a$turn" dlock run --ttl 20s "$key" -- section --for 30
    wait_until has 1 holders "$key"
    nap 400000 # it watches its node
    before=$(now_ms)
    run -0 dlock force-release --yes "$key"
    (($(now_ms) - before > 900 * slowness)) || ((++in_time))
    [ "$(how_ended "a$turn")" = "exit 79" ]
  done
  local owner
  read -r owner _ < <(dlock acquire --ttl 20s "$key")
  before=$(now_ms)
  run -0 dlock renew --ttl 20s --owner "$owner" "$key"
  run -0 dlock release --owner "$owner" "$key"
  (($(now_ms) - before > 900 * slowness)) || ((++in_time))
  [ "$in_time" -ge 6 ]
}

# bats test_tags=all
@test "one node is deleted by hand: 79, and it is not made again" {
  kazoo k
  start_watched a dlock run --ttl 20s "$key" -- section --for 30
  wait_until begun 1
  local node
  for node in $(ask k children "/$key"); do ask k delete "/$key/$node"; done
  [ "$(how_ended a)" = "exit 79" ]
  [[ "$(ask k children "/$key")" != *lock* ]]
}

# --- the network -----------------------------------------------------------------------------------------------------

through_proxy() {
  start_proxy one frames
  direct=$(zookeeper_url one)
  use "$(zookeeper_url proxy)"
}

@test "black hole: the command is ended before its session is, 79; the next one does not overlap" { through_proxy; black_hole hold; }

# bats test_tags=all
@test "black hole behind a connection that was cut and made again: the loss has its own reason, not that of the cut" {
  through_proxy
  start_watched a dlock run --ttl "${slowness}s" "$key" -- section --for $((30 * slowness)) 2>said
  wait_until begun 1
  network reset
  network count
  wait_until answered_again
  network hold
  [ "$(how_ended a)" = "exit 79" ]
  cat said
  grep -q "LOST $key: no renewal for .* (cannot reach $DLOCK_BACKEND: no answer" said
}
answered_again() { [[ "$(network count)" == *' '[1-9]* ]]; }

# bats test_tags=all
@test "an outage under a waiter, shorter than its wait: refused" { through_proxy; outage_under_a_waiter refuse; }
# bats test_tags=all
@test "an outage under a waiter, longer than its session and shorter than its wait: silent" { through_proxy; outage_under_a_waiter hold --ttl "${slowness}s"; }
@test "connections reset, again and again: holder and waiter go on with their sessions" { through_proxy; connections_reset 4s 3 6 0.3 1500; }

# bats test_tags=all
@test "cut behind every single message, in both directions: ran once, released, nobody is told otherwise" {
  through_proxy
  life_cut_everywhere 3s 12
}

# The length of a request goes out by itself. A server closes the connection on which a length is none, and the relay waits.
@test "a connection that ends in the middle of a request: nothing of that goes out on the next one" {
  command -v g++ >/dev/null || skip "no compiler"
  through_proxy
  g++ -shared -fPIC -o broken_send.so "$support/preload/broken_send.cpp"
  local n
  for n in {1..9}; do # the first one is the greeting
    LD_PRELOAD=$PWD/broken_send.so BROKEN_SEND=$n run -0 dlock run -w 5 "$key-$n" -- true
    echo "$n: $output"
    [ -z "$output" ]
  done
}

# --- many ------------------------------------------------------------------------------------------------------------

woken() { zookeeper_counts own zk_sum_node_deleted_watch_count; }

# The keeper computed for seconds, and each of them read every node of the others.
# bats test_tags=all
@test "behind 5 000 others a waiter asks no more than behind 30, and is told how many they are; inspect lists 1 000" {
  own_server
  kazoo crowd own 60000
  local count before asked=()
  for count in 30 5000; do
    [ "$(ask crowd make "/k$count")" = ok ]
    [ "$(ask crowd queue "/k$count" "$count")" = ok ]
    before=$(zookeeper_counts own zk_packets_received)
    run -75 dlock run --progress=always -w 1500ms "k$count" -- true
    asked+=($(($(zookeeper_counts own zk_packets_received) - before)))
    [[ "$output" == *"$((count + 1))th in line"* || "$output" == *"${count}th in line"* ]]
    [[ "$output" == *"$((count - 1)) others wait"* ]]
  done
  echo "packets: ${asked[*]}"
  ((asked[1] - asked[0] <= 6)) # of which some are pings
  run -0 --separate-stderr dlock inspect --json k5000
  [ "$("$programs/json_part" --count /waiters <<<"$output")" = 1000 ]
  [ "$("$programs/json_part" /more_waiters <<<"$output")" = 3999 ]
  run -75 dlock wait -w 100ms k5000
  before=$(now_ms)
  run -0 dlock inspect k5000
  (($(now_ms) - before < 2000 * slowness))
}

# bats test_tags=all
@test "256 wait: a hand-over wakes the next one, and nobody else" {
  own_server
  patience=60
  hold_lock "$key"
  local i before after
  for i in {1..256}; do dlock run -q "$key" -- sh -c 'echo >>served' 3>&- {holder_stdin}>&- & started+=("$!"); done
  wait_until has 256 waiters "$key"
  before=$(woken)
  let_go
  wait_until lines_in served 256
  wait_until is_free "$key"
  after=$(woken)
  echo "$((after - before)) watches on deleted nodes fired for 257 releases"
  # One for the next in line; and three of the first holder, which had the time to watch its own nodes.
  [ $((after - before)) -le 300 ]
  [ $((after - before)) -ge 256 ]
}
