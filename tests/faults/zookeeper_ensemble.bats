# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# Three ZooKeeper servers when some of them die, restart or are cut off. e2 leads; e3 follows through a link that can be cut.
load ../support/cli
load ../support/zookeeper

setup() {
  set_world
  script_section
  linked=yes start_ensemble e
  all=$(zookeeper_url e1 e2 e3)
  use "$all"
}
teardown() { end_world; }

# Takes k on the follower that will be cut off; somebody waits on the other side.
cut_runs=${DLOCK_CUT_RUNS:-4}

@test "a follower that is cut off from its leader: the command is ended before the lock is given to another one" {
  local n
  for ((n = 1; n <= cut_runs; n++)); do
    rm -f history a a.pid b b.pid
    DLOCK_BACKEND=$(zookeeper_url e3) start_watched a dlock run --ttl 2s k -- section --for 60
    wait_until begun 1
    DLOCK_BACKEND=$(zookeeper_url e1 e2) start_watched b dlock run -q k -- section --for 0.2
    DLOCK_BACKEND=$(zookeeper_url e1) wait_until has 1 waiters k
    network_of elink hold
    wait_until begun 2
    # The trap: the follower does not know yet, and goes on answering.
    zookeeper_is e3 follower
    [ "$(how_ended a)" = "exit 79" ]
    [ "$(how_ended b)" = "exit 0" ]
    network_of elink pass
    echo "run $n"
    history check --sections 2
  done
}

@test "cut off, but with other servers in its list: the session goes on there" {
  DLOCK_BACKEND=$(zookeeper_url e3 e1) start_watched a dlock run --ttl 20s k -- section --for 18 # without a renewal TERM comes after 16 s
  wait_until begun 1
  network_of elink hold
  [ "$(how_ended a)" = "exit 0" ]
}

@test "two of three stopped: the command is ended before its session is, 79; who gives back is told why it is not confirmed; nobody is served meanwhile" {
  start_watched a dlock run --ttl 2s k -- section --for 60
  start_watched b dlock run --ttl 2s other -- sh -c 'touch held; until [ -e go ]; do sleep 0.1; done; exit 3' 2>said
  wait_until begun 1
  wait_until test -e held
  kill -STOP "$(pid_of_server e1)" "$(pid_of_server e2)"
  touch go
  [ "$(how_ended b)" = "exit 3" ]
  cat said
  grep -q 'the release of other could not be confirmed: cannot reach .*; the lease ' said
  [ "$(how_ended a)" = "exit 79" ]
  run -69 dlock run -q -n --connect-timeout 1s k -- touch ran
  kill -CONT "$(pid_of_server e1)" "$(pid_of_server e2)"
  run -0 dlock run -q -w 20 --connect-timeout 20s k -- section
  [ ! -e ran ]
  history check --sections 2
}

@test "the leader SIGKILLed: another one is elected, sessions go on" {
  start_watched a dlock run --ttl 15s k -- section --for 8
  wait_until begun 1
  start_watched b dlock run -q --ttl 15s k -- section
  wait_until has 1 waiters k
  kill_server e2
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "one of three is gone: what an operator asks goes to the others, whichever is tried first" {
  kill_server e3
  local name
  for name in k{1..8}; do
    start_watched "$name" dlock run -q --lock-delay 1s "$name" -- sh -c "touch in-$name; exec sleep 60"
    wait_until test -e "in-$name"
    run -0 dlock ping
    run -0 dlock gc
    run -0 dlock inspect "$name"
    run -0 dlock force-release --yes "$name"
    [ "$(how_ended "$name")" = "exit 79" ]
  done
}
