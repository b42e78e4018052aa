# SPDX-License-Identifier: Apache-2.0
# Sentinel and Cluster: which server is asked while servers die, slots move and sentinels are away.
load ../support/cli
load ../support/faults
load ../support/redis
load ../support/deployments

setup() { set_world; }
teardown() { end_world; }

# --- Sentinel --------------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "sentinel: --fair is in order of arrival, and nobody is let by" {
  start_sentinels
  use "$url"
  fair_order
}

# bats test_tags=all
@test "sentinel: --fair is in order of arrival after a failover, also when new ones take and free the lock before the waiters are back" {
  start_sentinels
  use "$url"
  fair_after failed_over
}
failed_over() {
  redis_cli s1 sentinel failover main
  for sentinel in s1 s2 s3; do wait_until names_master "$sentinel" two; done
}

# --- Cluster ---------------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "cluster: --fair is in order of arrival, and nobody is let by" {
  start_cluster
  use "$url"
  fair_order
}

# bats test_tags=all
@test "cluster: --fair is in order of arrival after the slot has moved: waiters listen where it is now" {
  start_cluster
  use "$url"
  key=x
  fair_queue
  redis_cli a cluster setslot 16287 importing "$(id_of c)"
  redis_cli c cluster setslot 16287 migrating "$(id_of a)"
  local all
  mapfile -t all < <(redis_cli c cluster getkeysinslot 16287 100)
  redis_cli c migrate 127.0.0.1 "$(port_of a)" '' 0 5000 keys "${all[@]}"
  for node in a c b; do redis_cli "$node" cluster setslot 16287 node "$(id_of a)"; done
  wait_until all_listen_at a
  let_go
  served_in_order
}
all_listen_at() { [ "$(redis_cli "$1" pubsub channels 'dlock:{x}:wake:*' | grep -c .)" -ge 5 ]; }

# bats test_tags=all
@test "cluster: a holder renews while the token of its lock lies at the other node of a slot that moves" {
  start_cluster
  use "$url"
  dlock run -n x -- true # its token stays
  start_watched a dlock run --ttl 2s x -- sleep 5
  wait_until is_held x
  redis_cli a cluster setslot 16287 importing "$(id_of c)"
  redis_cli c cluster setslot 16287 migrating "$(id_of a)"
  redis_cli c migrate 127.0.0.1 "$(port_of a)" '' 0 5000 keys 'dlock:{x}:fence'
  sleep 3 # longer than the lease
  local rest
  mapfile -t rest < <(redis_cli c cluster getkeysinslot 16287 100)
  redis_cli c migrate 127.0.0.1 "$(port_of a)" '' 0 5000 keys "${rest[@]}"
  for node in a c b; do redis_cli "$node" cluster setslot 16287 node "$(id_of a)"; done
  [ "$(how_ended a)" = "exit 0" ]
}

# --- dlock itself ----------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "sentinel: a lock is held across the death of the master, and its command is not disturbed" {
  start_sentinels
  export DLOCK_BACKEND=$url
  dlock run --ttl 30s k -- sh -c 'echo begun >begun; while [ ! -e end ]; do sleep 0.1; done' >out 2>&1 3>&- &
  local run=$!
  echo "$run" >run.pid
  wait_until filled begun
  kill_redis one
  for sentinel in s1 s2 s3; do wait_until names_master "$sentinel" two; done
  run -75 dlock run -n k -- true
  touch end
  wait "$run"
  run -0 dlock run -n k -- true
}

# bats test_tags=all
@test "cluster: a lock is taken and released at the node of its slot; where that refuses, -n ends at once" {
  start_cluster
  export DLOCK_BACKEND=$url
  run -0 dlock run --ttl 30s x -- true
  kill_redis c
  run -0 dlock run -n -b "$url,$(address b)" L -- true # slot 2376, of "a"
  redis_cli a config resetstat
  run -69 dlock run -n x -- true # looked for once, and nothing to give back
  [[ "$(redis_cli a info commandstats)" == *'cluster|slots:calls=1,'* ]]
}

# What holds k while "end" is missing, and who waits for it; then both must come to their end, one after the other.
hold_and_wait() { # KEY TTL
  start_watched a dlock run --ttl "$2" "$1" -- sh -c 'echo begun >begun; while [ ! -e end ]; do sleep 0.1; done; echo a >>served'
  wait_until filled begun
  start_watched b dlock run -q --ttl "$2" "$1" -- sh -c 'echo b >>served'
  wait_until has 1 waiters "$1"
}
both_are_served() {
  [ ! -e served ]
  touch end
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  [ "$(cat served)" = $'a\nb' ]
}
# A renewal has come there since it was asked first: without one a key's time only gets shorter.
is_renewed() { # SERVER KEY
  local left
  left=$(redis_cli "$1" pttl "$2")
  [ "$left" -le 0 ] || [ "$left" -le "${least:=$left}" ] || return 0
  [ "$left" -le 0 ] || least=$left
  return 1
}

# bats test_tags=all
@test "cluster: a slot moves under a holder and a waiter: half of its keys for a while (TRYAGAIN), then all" {
  start_cluster
  export DLOCK_BACKEND=$url
  local often=(--ttl 12s)
  start_watched p dlock run -b "$url?layout=redisson&kind=rw" -s "${often[@]}" 'p{x}' -- sleep 99
  wait_until redis_says c 1 exists 'p{x}'
  start_watched n dlock run -v -s "${often[@]}" 'n{x}' -- sleep 99 2>readers
  wait_until grep -q granted readers
  hold_and_wait x 12s # longer than these steps take on a busy machine
  redis_cli a cluster setslot 16287 importing "$(id_of c)"
  redis_cli c cluster setslot 16287 migrating "$(id_of a)"
  wait_until is_renewed c x # however long that takes
  least=
  wait_until is_renewed c 'p{x}'
  : >readers
  wait_until grep -q renewed readers
  kill "$(pid_of p)" "$(pid_of n)"
  redis_cli c migrate 127.0.0.1 "$(port_of a)" '' 0 5000 keys x 'dlock:{x}:fence'
  # Nobody is told anything final meanwhile; an attempt waits for the rest.
  run dlock run -n --connect-timeout 1s x -- touch ran
  echo "$output"
  [[ "$status" = 69 || "$status" = 75 ]]
  local rest
  mapfile -t rest < <(redis_cli c cluster getkeysinslot 16287 100)
  redis_cli c migrate 127.0.0.1 "$(port_of a)" '' 0 5000 keys "${rest[@]}"
  for node in a c b; do redis_cli "$node" cluster setslot 16287 node "$(id_of a)"; done
  least=
  wait_until is_renewed a x # where it is now
  run -75 dlock run -q -n x -- true
  both_are_served
  [ ! -e ran ]
}

# From Redis 8 and Valkey 8 on the keys of a slot move in no order: a lock and what lies beside it are in two places.
half_move() { # KEY...: from c to a
  redis_cli c migrate 127.0.0.1 "$(port_of a)" '' 0 5000 keys "$@"
}
holds_in_every_way() { # TTL
  local l="$url?layout=redisson" beside='>begun.$DLOCK_KEYS; exec sleep 99'
  start_watched alone dlock run --ttl "$1" x -- sh -c ": $beside"
  start_watched delayed dlock run --ttl "$1" --lock-delay 2s 'd{x}' -- sh -c ": $beside"
  start_watched shared dlock run -s --ttl "$1" 's{x}' -- sh -c ": $beside"
  start_watched permit dlock run --permits 2 --ttl "$1" 'p{x}' -- sh -c ": $beside"
  start_watched theirs dlock run -b "$l&kind=lock" --ttl "$1" 'l{x}' -- sh -c ": $beside"
  start_watched reader dlock run -b "$l&kind=rw" -s --ttl "$1" 'r{x}' -- sh -c ": $beside"
  start_watched writer dlock run -b "$l&kind=rw" --ttl "$1" 'w{x}' -- sh -c ": $beside"
  local key
  for key in x 'd{x}' 's{x}' 'p{x}' 'l{x}' 'r{x}' 'w{x}'; do wait_until test -e "begun.$key"; done
}
all_go_on() { # for longer than a lease
  sleep "$1"
  local name
  for name in alone delayed shared permit theirs reader writer; do
    [ ! -e "$name.status" ] || return
    is_running "$name" || return
  done
}
is_running() { kill -0 "$(pid_of "$1")"; }

@test "cluster: a slot stands half moved: what is held is renewed, the lock here and its companions there, or the other way round" {
  start_cluster
  export DLOCK_BACKEND=$url
  holds_in_every_way 2s
  redis_cli a cluster setslot 16287 importing "$(id_of c)"
  redis_cli c cluster setslot 16287 migrating "$(id_of a)"
  local keys=() beside=() key
  mapfile -t keys < <(redis_cli c cluster getkeysinslot 16287 100)
  for key in "${keys[@]}"; do [[ $key == ?'{x}' || $key == x ]] || beside+=("$key"); done
  half_move "${beside[@]}"
  all_go_on 5
  [ "$(redis_cli c cluster countkeysinslot 16287)" = 7 ] # none was made anew
  half_move x 'd{x}' 's{x}' 'p{x}' 'l{x}' 'r{x}' 'w{x}'
  # And back, the locks first.
  redis_cli a cluster setslot 16287 migrating "$(id_of c)"
  redis_cli c cluster setslot 16287 importing "$(id_of a)"
  redis_cli a migrate 127.0.0.1 "$(port_of c)" '' 0 5000 keys x 'd{x}' 's{x}' 'p{x}' 'l{x}' 'r{x}' 'w{x}'
  all_go_on 5
}

@test "cluster: a slot stands half moved: a lock in it is shown, asked back, and given back" {
  start_cluster
  export DLOCK_BACKEND=$url
  start_watched a dlock run -q --ttl 6s --reason work x -- sh -c 'echo >begun; exec sleep 99'
  wait_until test -e begun
  redis_cli a cluster setslot 16287 importing "$(id_of c)"
  redis_cli c cluster setslot 16287 migrating "$(id_of a)"
  half_move 'dlock:{x}:holders'
  run -0 dlock inspect x
  [[ "$output" == *work* ]]
  run -0 dlock revoke -w 10s --reason 'release 2.5' x
  echo "$output"
  [ "$(how_ended a)" = "exit 79" ]
  is_free x
}

offset_of() { redis_cli "$1" info replication | sed -n 's/^master_repl_offset:\([0-9]*\).*/\1/p'; }
has_caught_up() { [ "$(offset_of "$1")" = "$(offset_of "$2")" ]; } # REPLICA MASTER

# bats test_tags=all
@test "cluster: a master that is stopped (SIGSTOP) under a holder and a waiter: both go on at its replica" {
  start_cluster d
  redis_cli d cluster replicate "$(id_of c)"
  wait_until redis_line d master_link_status:up info replication
  export DLOCK_BACKEND=$url
  hold_and_wait x 15s
  wait_until has_caught_up d c # a replica that missed the write is another test
  kill -STOP "$(pid_of_redis c)"
  wait_until redis_line d master role
  wait_until is_renewed d x
  both_are_served
}

# bats test_tags=all
@test "cluster: a master hangs while several keys are taken: 69, nothing is run, and what was had of the others is given back" {
  start_cluster
  use "$url"
  kill -STOP "$(pid_of_redis c)"
  run -69 dlock run -n --ttl 60s --connect-timeout 1s k0 k2 x -- touch ran # at b, a and c, in this order
  echo "$output"
  [ ! -e ran ]
  [[ "$output" != *keeper* ]]
  kill -CONT "$(pid_of_redis c)"
  for node in a b c; do wait_until is_writable "$node"; done
  for key in k0 k2 x; do wait_until is_free "$key"; done
}

# bats test_tags=all
@test "sentinel: a master that is stopped (SIGSTOP) under a holder and a waiter: both go on at the new one" {
  start_sentinels
  export DLOCK_BACKEND=$url
  hold_and_wait k 15s
  kill -STOP "$(pid_of_redis one)"
  for sentinel in s1 s2 s3; do wait_until names_master "$sentinel" two; done
  wait_until is_renewed two k
  both_are_served
  # The old one wakes and takes itself for the master: nobody is sent there.
  kill -CONT "$(pid_of_redis one)"
  run -0 dlock run -n k -- true
}

# No master is down: the sentinels were asked for it.
@test "sentinel: a failover of a healthy set: holder and waiter go on at the new master" {
  start_sentinels
  export DLOCK_BACKEND=$url
  hold_and_wait k 15s
  wait_until has_caught_up two one # a replica that missed the write is another test
  redis_cli s1 sentinel failover main
  for sentinel in s1 s2 s3; do wait_until names_master "$sentinel" two; done
  wait_until is_renewed two k
  both_are_served
}

# bats test_tags=all
@test "sentinel: a failover that lost the key: the next renewal says lost, 79" {
  start_sentinels
  export DLOCK_BACKEND=$url
  start_watched a dlock run --ttl 10s k -- sh -c 'echo begun >begun; sleep 30' 2>said
  wait_until filled begun
  redis_cli one acl setuser default -psync -sync
  redis_cli one client kill type replica >&2
  redis_cli two del k >&2 || true
  kill_redis one
  for sentinel in s1 s2 s3; do wait_until names_master "$sentinel" two; done
  redis_cli two del k
  [ "$(how_ended a)" = "exit 79" ]
  grep -q 'LOST k' said
}

# bats test_tags=all
@test "sentinel: all sentinels gone under a holder: it goes on renewing at its master, and gives the lock back" {
  start_sentinels
  export DLOCK_BACKEND=$url
  start_watched a dlock run --ttl 3s k -- sh -c 'echo begun >begun; sleep 6'
  wait_until filled begun
  for sentinel in s1 s2 s3; do kill_redis "$sentinel"; done
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(redis_cli one exists k)" = 0 ]
}

# bats test_tags=all
@test "the password changes under a holder: what is open goes on, and a new connection is refused with 77" {
  start_redis one
  redis_cli one config set requirepass before
  DLOCK_BACKEND=$(redis_url one)
  export DLOCK_BACKEND DLOCK_PASSWORD=before
  start_watched a dlock run --ttl 2s k -- sh -c 'echo begun >begun; sleep 4'
  wait_until filled begun
  REDISCLI_AUTH=before redis_cli one config set requirepass after
  run -77 dlock run -n k -- true
  [ "$(how_ended a)" = "exit 0" ]
  DLOCK_PASSWORD=after run -0 dlock run -n k -- true
}

# A key of this node is as good as one of another: both are refused, and what went along with the greeting is undone.
# bats test_tags=all
@test "redis:// at a node of a cluster: every command is 78 for every key, with the right scheme, and nothing is left" {
  start_cluster
  local key words node
  node=redis://$(address a)
  [ "$(redis_cli a cluster keyslot k)" -gt 5460 ] # is not on "a"
  [ "$(redis_cli a cluster keyslot b)" -le 5460 ] # is
  for key in k b; do
    for words in "run -n --if-unavailable run $key -- touch ran" "run -w 10s $key -- touch ran" "acquire --ttl 1m $key" \
      "wait -n $key" "hold -n $key" "check $key 7" "inspect $key" "fence $key 8" "force-release --yes $key" "ping" "doctor" "gc" \
      "stock create $key --quantity 9" "stock take $key --qty 1 --id i" "stock show $key"; do
      # shellcheck disable=SC2086
      run -78 dlock ${words%% *} -b "$node" ${words#"${words%% *}"}
      echo "$words: $output"
      [[ "$output" == *"$(address a) is a node of a cluster"*"redis+cluster://"* ]]
    done
    run -78 dlock run -n -b "redlock://$(address a),$(address b),$(address c)" "$key" -- touch ran
    [[ "$output" == *"is a node of a cluster"* ]]
    run -78 dlock run -n -b "$node?layout=redisson&kind=lock" "$key" -- touch ran
  done
  [ ! -e ran ]
  [ "$(redis_cli a exists b)" = 0 ]
  for words in a b c; do [[ "$(redis_cli "$words" --scan)" != *stock* ]]; done
  DLOCK_BACKEND=$url run -0 dlock run -n b -- true
}

# bats test_tags=all
@test "cluster: nodes that are called by an address that leads nowhere from here: address-map is named" {
  start_cluster
  local node
  for node in a b c; do redis_cli "$node" config set cluster-announce-port 1; done
  elsewhere() { [ "$(redis_cli a cluster nodes | grep -c '127.0.0.1:1@')" = 3 ]; }
  wait_until elsewhere
  run -69 dlock run -n -b "redis+cluster://$(address a)" k -- true
  echo "$output"
  [[ "$output" == *"cannot reach 127.0.0.1:1:"*"?address-map=127.0.0.1:1="* ]]
}

# bats test_tags=all
@test "redis:// at a sentinel: 78, and how it is named" {
  start_sentinels
  run -78 dlock run -n --if-unavailable run -b "redis://$(address s1)" k -- touch ran
  [[ "$output" == *"$(address s1) is a sentinel"*"redis+sentinel://$(address s1)/NAME"* ]]
  run -78 dlock doctor -b "redis://$(address s1)"
  [ ! -e ran ]
}

# bats test_tags=all
@test "one name for the primary: holder and waiter follow it through a failover" {
  start_redis one --repl-diskless-sync-delay 0 --unixsocket "$PWD/one.sock"
  start_redis two --repl-diskless-sync-delay 0 --unixsocket "$PWD/two.sock" --replicaof 127.0.0.1 "$(port_of one)"
  wait_until redis_line two master_link_status:up info replication
  ln -s one.sock primary.sock
  export DLOCK_BACKEND=redis+unix://$PWD/primary.sock
  script_section
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((5 * slowness))
  wait_until begun 1
  wait_section b
  wait_until has_caught_up two one
  redis_cli two replicaof no one
  ln -sfn two.sock primary.sock
  redis_cli one replicaof 127.0.0.1 "$(port_of two)"
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

# bats test_tags=all
@test "sentinel: a password file of the sentinels that is written anew is read again: holder and waiter go on" {
  start_sentinels
  local sentinel
  for sentinel in s1 s2 s3; do redis_cli "$sentinel" acl setuser watcher on '>secret' '~*' '&*' '+@all'; done
  (umask 077 && echo secret >password)
  export DLOCK_BACKEND="$url?sentinel-user=watcher&sentinel-password-file=$PWD/password"
  script_section
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((6 * slowness))
  wait_until begun 1
  wait_section b
  for sentinel in s1 s2 s3; do redis_cli "$sentinel" acl setuser watcher resetpass '>another'; done
  echo another >password
  for sentinel in s1 s2 s3; do redis_cli "$sentinel" client kill user watcher; done
  redis_cli one client kill type normal # each new connection asks the sentinels
  redis_cli one client kill type pubsub
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  echo wrong >password
  run -77 dlock run -n k -- true
  [[ "$output" == *"sentinel-password-file"* ]]
}
