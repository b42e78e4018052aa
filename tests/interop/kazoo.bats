# SPDX-License-Identifier: Apache-2.0
# kazoo's locks (Debian's python3-kazoo) and dlock on one path, and a crowd of Curator, kazoo and dlock.
load ../support/cli
load ../support/zookeeper
load ../support/zookeeper_peers

setup_file() { in_file start_zookeeper one; }
teardown_file() { in_file kill_server one; }
setup() {
  set_path
  use_recipe kazoo
}
teardown() { end_world; }

@test "recipe=kazoo and kazoo's Lock, ReadLock and WriteLock: as two of kazoo's own" {
  kazoo k
  each_shuts_out_the_other k lock
  each_shuts_out_the_other k read
  each_shuts_out_the_other k write
}

# bats test_tags=all
@test "recipe=kazoo, shared: kazoo's Lock and WriteLock are waited for, and kazoo's WriteLock waits" {
  kazoo k
  theirs_shuts_out k lock --shared
  each_shuts_out_the_other k write --shared
  both_hold k read --shared
}

@test "a lease without a process: kazoo waits behind it, and goes on when gc or a dlock has removed it" {
  kazoo k
  lease_shuts_out k lock
  lease_shuts_out k write --shared
}

# bats test_tags=all
@test "kazoo reads who holds and who waits among dlock's nodes" {
  kazoo k
  kazoo l
  hold_lock --reason "déploiement" "$key"
  tell l take a lock "$path" 20000
  wait_until has 1 waiters "$key"
  run -0 ask k contenders lock "$path"
  [[ "$output" == *,kazoo-* ]]
  run -0 dlock inspect "$key"
  [[ "$output" == *kazoo* ]]
  let_go
  [ "$(hear l)" = "held a" ]
}

@test "first come, first served across both: kazoo, dlock, kazoo" {
  kazoo k
  kazoo l
  theirs_ours_theirs k l lock
}

@test "kazoo dies with the lock: dlock has it when its session is over, and not before" {
  kazoo k one 2000
  dies_with_the_lock k lock
}

# bats test_tags=all
@test "a waiter that gives up leaves nothing in kazoo's way" {
  kazoo k
  [ "$(ask k take a lock "$path" 5000)" = "held a" ]
  run -75 dlock run -q -w 0.3 "$key" -- true
  start_watched w dlock run -q "$key" -- true
  wait_until has 1 waiters "$key"
  kill -TERM "$(cat w.pid)"
  how_ended w
  [ "$(wc -w <<<"$(ask k children "$path")")" = 1 ]
}

@test "two that cannot shut each other out on one path: dlock says so" {
  kazoo k
  use_recipe curator
  [ "$(ask k take a lock "$path" 5000)" = "held a" ]
  run -0 dlock run -n "$key" -- true
  [[ "$output" == *kazoo* ]]
}

# bats test_tags=all
@test "4 Curator mutexes and 4 dlocks, 4 kazoo locks and 4 dlocks, three rounds: no hold of dlock overlaps any other" {
  command -v javac >/dev/null || skip "no Java compiler: scripts/install-packages test"
  compile_peers
  curator c
  kazoo k
  script dlock_crowd <<'CODE'
#!/bin/bash
set -e
for _ in 1 2 3; do dlock run -q -b "$2" "$1" -- section --for 0.015; done
CODE
  local i who
  for who in curator kazoo; do
    use_recipe $who
    rm -f history
    if [ $who = curator ]; then tell c crowd mutex "$path-$who" 4 3; else tell k crowd lock "$path-$who" 4 3; fi
    for i in 1 2 3 4; do start_watched "$who$i" dlock_crowd "$key-$who" "$(backend)"; done
    patience=60
    if [ $who = curator ]; then [ "$(hear c)" = "done" ]; else [ "$(hear k)" = "done" ]; fi
    for i in 1 2 3 4; do [ "$(how_ended "$who$i")" = "exit 0" ]; done
    history check --sections 24
  done
}
