# SPDX-License-Identifier: Apache-2.0
# Curator's locks (Debian's libcurator-recipes-java) and dlock on one path: who shuts out whom, in both roles; order; the
# names of the nodes; what happens when one of them dies.
load ../support/cli
load ../support/zookeeper
load ../support/zookeeper_peers

setup_file() {
  command -v javac >/dev/null || skip "no Java compiler: scripts/install-packages test"
  compile_peers
  in_file start_zookeeper one
}
teardown_file() { in_file kill_server one; }
setup() { set_path; }
teardown() { end_world; }

children() { ask k children "$path"; } # of kazoo k

@test "dlock and Curator's mutex shut each other out; what Curator's read/write lock holds is waited for, and warned of" {
  curator c
  each_shuts_out_the_other c mutex
  theirs_shuts_out c write
  theirs_shuts_out c read
  hold_lock "$key"
  [ "$(ask c take x read "$path" 5000)" = "held x" ] # Curator's own do not see each other either
  let_go
  start_watched late dlock run "$key" -- true
  wait_until has 1 waiters "$key"
  [ "$(ask c free x)" = "free x" ]
  [ "$(how_ended late)" = "exit 0" ]
}

# bats test_tags=all
@test "shared: Curator's mutex and writer are waited for, and Curator's writer waits" {
  curator c
  theirs_shuts_out c mutex --shared
  each_shuts_out_the_other c write --shared
  both_hold c read --shared
}

# bats test_tags=all
@test "recipe=rw and Curator's read/write lock: as two of Curator's own; and dlocks of both recipes" {
  curator c
  use_recipe rw
  hold_lock "$key"
  run -75 dlock run -q -n -b "$(zookeeper_url one)" "$key" -- true
  let_go
  each_shuts_out_the_other c write
  each_shuts_out_the_other c read
  each_shuts_out_the_other c write --shared
  both_hold c read --shared
}

# bats test_tags=all
@test "recipe=semaphore-mutex, Curator's semaphore mutex and semaphore of one shut each other out" {
  curator c
  use_recipe semaphore-mutex
  each_shuts_out_the_other c semaphore-mutex
  each_shuts_out_the_other c semaphore:1
}

@test "three permits between Curator and dlock, whoever has them; dlock alone waits for all of them" {
  curator c
  [ "$(ask c take a semaphore:3 "$path" 5000)" = "held a" ]
  run -0 attempt --permits 3 true
  hold_lock --permits 3 "$key"
  run -0 attempt --permits 3 true
  [ "$(ask c take b semaphore:3 "$path" 5000)" = "held b" ]
  run -75 attempt --permits 3 touch ran
  [ ! -e ran ]
  [ "$(ask c take d semaphore:3 "$path" 200)" = "busy d" ]
  [ "$(ask c free b)" = "free b" ]
  run -0 attempt --permits 3 true
  let_go
  [ "$(ask c take e semaphore:3 "$path" 5000)" = "held e" ]
  run -75 attempt true
}

@test "a lease without a process: Curator waits behind it, and goes on when gc or a dlock has removed it" {
  curator c
  lease_shuts_out c mutex
  key+=-counted path+=-counted
  lease_shuts_out c semaphore:1 --permits 1
  key+=-rw path+=-rw
  use_recipe rw
  lease_shuts_out c write --shared
  lease_shuts_out c read
}

# bats test_tags=all
@test "several keys at once and Curator's multi lock: one common path is enough to shut out" {
  curator c
  [ "$(ask c take m multi "$path/a,$path/b" 5000)" = "held m" ]
  run -75 dlock run -q -n "$key/b" "$key/c" -- true
  run -0 dlock run -q -n "$key/c" -- true
  [ "$(ask c free m)" = "free m" ]
  start dlock run "$key/c" "$key/b" -- sleep 60
  wait_until is_held "$key/c"
  wait_until is_held "$key/b"
  [ "$(ask c take n multi "$path/a,$path/b" 200)" = "busy n" ]
  [ "$(ask c take o mutex "$path/a" 5000)" = "held o" ]
}

# bats test_tags=all
@test "the nodes are those that Curator makes" {
  kazoo k
  local uuid='[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
  hold_lock "$key"
  [[ "$(children)" =~ ^_c_$uuid-lock-[0-9]{10}$ ]]
  let_go
  hold_lock --shared "$key"
  [[ "$(children)" =~ ^_c_$uuid-__READ__[0-9]{10}$ ]]
  let_go
  use_recipe rw
  hold_lock "$key"
  [[ "$(children)" =~ ^_c_$uuid-__WRIT__[0-9]{10}$ ]]
  let_go
  use_recipe kazoo
  hold_lock "$key"
  [[ "$(children)" =~ ^[a-f][0-9a-f]{31}__lock__[0-9]{10}$ ]]
  let_go
  use_recipe curator
  key=counted path=/counted
  hold_lock --permits 2 "$key"
  [[ "$(ask k children "$path/leases")" =~ ^_c_$uuid-lease-[0-9]{10}$ ]]
  let_go
}

# bats test_tags=all
@test "first come, first served across both: Curator, dlock, Curator, dlock" {
  curator c
  curator d
  curator e
  two_more() {
    start_watched second dlock run -q "$key" -- section --for 0.05
    wait_until has 3 waiters "$key"
    tell e take f mutex "$path" 20000
    wait_until has 4 waiters "$key"
  }
  theirs_ours_theirs c d mutex two_more
  [ "$(grep -c BEGIN history)" = 1 ]
  [ "$(ask d free b)" = "free b" ]
  [ "$(how_ended second)" = "exit 0" ]
  [ "$(hear e)" = "held f" ]
  history check --sections 2
}

@test "Curator dies with the lock: dlock has it when its session is over, and not before" {
  curator c one 2000
  dies_with_the_lock c mutex
}

# bats test_tags=all
@test "dlock and its keeper die with the lock: Curator has it when the session is over" {
  curator c
  start_watched a dlock run --ttl 2s "$key" -- section --for 30
  wait_until begun 1
  kill -KILL "$(cat a.pid)" "$(pgrep -P "$(cat a.pid)" -x dlock-zookeeper)"
  [ "$(ask c take b mutex "$path" 20000)" = "held b" ]
  local last
  last=$(tail -n 1 history)
  sleep 0.1
  [ "$(tail -n 1 history)" = "$last" ]
}

# bats test_tags=all
@test "inspect shows who holds and who waits, also those of Curator; force-release frees them" {
  curator c
  curator d
  [ "$(ask c take a mutex "$path" 5000)" = "held a" ]
  tell d take b mutex "$path" 20000
  wait_until has 1 waiters "$key"
  run -0 dlock inspect "$key"
  [[ "$output" == *"Curator mutex"* ]]
  run -0 dlock force-release --yes "$key"
  [ "$(hear d)" = "held b" ]
  # Curator does not notice; its release of what it has no more hurts nobody.
  [ "$(ask c holds a)" = true ]
  ask c free a
  run -75 attempt true
}

# bats test_tags=all
@test "revoke asks Curator's holder by __REVOKE__, and is done when that has released it" {
  curator c
  [ "$(ask c revocable a "$path" 5000)" = "held a" ]
  start_watched waiter dlock revoke -w 20s "$key"
  [ "$(hear c)" = "revoked a" ]
  [ ! -e waiter ]
  is_held "$key"
  [ "$(ask c free a)" = "free a" ]
  [ "$(how_ended waiter)" = "exit 0" ]
  run -0 attempt true
  # One that was not made revocable does not listen.
  [ "$(ask c take b mutex "$path" 5000)" = "held b" ]
  run -75 dlock revoke -w 1s "$key"
  [ "$(ask c holds b)" = true ]
  run -75 attempt true
}

@test "asked by __REVOKE__ as Curator asks: the command gets TERM, and whoever waits the lock when it has ended" {
  curator c
  kazoo k
  start_watched a dlock run "$key" -- section --for 30
  wait_until begun 1
  local name
  name=$(children | tr ' ' '\n' | grep -- '-lock-')
  [ "$(ask k set "$path/$name" __REVOKE__)" = ok ]
  [ "$(ask c take b mutex "$path" 20000)" = "held b" ]
  how_ended a
}
