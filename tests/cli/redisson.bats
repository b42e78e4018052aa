# SPDX-License-Identifier: Apache-2.0
# Redisson's locks on their own keys, through the program: what is said of them. What stands on the server is in
# conformance/redis/redisson_scripts*, who excludes and wakes whom in interop/redisson.bats.
load ../support/cli

setup() {
  set_world
  need_servers
  key=order:$BATS_TEST_NUMBER.$$
  store=$DLOCK_TEST_REDIS
  theirs=11111111-2222-4333-8444-555555555555:7
}
teardown() { end_world; }

server() { redis-cli -u "$store" "$@"; } # WORD...
kind() { use "$store?layout=redisson&kind=$1"; }
# hears FILE CHANNEL: what is published there, from now on.
hears() {
  server --csv subscribe "$2" >"$1" 3>&- &
  started+=("$!")
  wait_until lines_in "$1" 1
}

@test "there is no token: check and fence are 78; acquire prints the owner alone, and renew and release take it" {
  kind lock
  run -0 --separate-stderr dlock acquire --ttl 5s "$key"
  [[ "$output" =~ ^[0-9a-f]{32}$ ]]
  local owner=$output
  [ "$(dlock inspect --json "$key" | jq -c '.holders[0] | [.owner, .token, .lease]')" = "[\"$owner\",null,true]" ]
  run -0 dlock renew --owner "$owner" --ttl 1m "$key"
  (($(server pttl "$key") > 30000))
  run -78 dlock check "$key" 1
  [[ "$output" == *"kind=lock has no fencing tokens"*kind=fenced* ]]
  run -78 dlock fence "$key" 1 -- touch ran
  run -0 dlock release --owner "$owner" "$key"
  run -79 dlock release --owner "$owner" "$key"
  run -0 --separate-stderr dlock acquire --json --ttl 5s "$key"
  [ "$(jq -c .token <<<"$output")" = null ]
  [ ! -e ran ]
}

@test "Redisson's other objects are refused, with what works: 78" {
  local object
  for object in spin semaphore permits; do
    kind "$object"
    run -78 dlock run "$key" -- touch ran
    [[ "$output" == *"kind cannot be '$object'"*"it takes lock|fair|rw|fenced"* ]]
  done
  kind lock
  run -78 dlock run --permits 2 "$key" -- touch ran
  [[ "$output" == *"has no permits"* ]]
  [ ! -e ran ]
}

@test "a dead Redisson client in a fair queue: inspect says until when it is waited for, force-release takes it out" {
  kind fair
  local until=$(($(date +%s) + 300))
  server rpush "redisson_lock_queue:{$key}" "$theirs"
  server zadd "redisson_lock_timeout:{$key}" "${until}000" "$theirs"
  run -75 dlock run -n "$key" -- true
  run -0 dlock inspect "$key"
  [[ "$output" == *"$theirs"*"waited for until "*"$(date -d "@$until" +%H:%M)"* ]]
  run -0 dlock inspect --json "$key"
  [ "$(jq -r '.waiters[0].until' <<<"$output")" = "$(date -u -d "@$until" +%FT%T.000Z)" ]
  run -64 dlock force-release "$key" # it asks, and shows whom
  [[ "$output" == *"$theirs"* ]]
  run -0 dlock force-release --yes "$key"
  [[ "$output" == *"$key no longer waits for"*"$theirs"* ]]
  [ "$(server exists "redisson_lock_queue:{$key}" "redisson_lock_timeout:{$key}")" = 0 ]
  run -0 dlock run -n "$key" -- true
  run -0 dlock force-release --yes "$key"
  [[ "$output" =~ "already free"|"no lock of that name is held" ]] # where others have names like it
}

@test "a lock without an end is said to have none and waited for; what Redisson cannot have written is 78" {
  kind lock
  server hset "$key" "$theirs" 1
  run -75 dlock run -w 200ms "$key" -- touch ran
  [[ "$output" == *"a lease without end (no TTL)"* ]]
  server del "$key"
  kind fenced
  server set "redisson_lock_token:{$key}" many
  run -78 dlock run "$key" -- touch ran
  [[ "$output" == *"not what Redisson writes"*many* ]]
  kind rw
  server hset "$key" mode update "$theirs" 1
  run -78 dlock run -n "$key" -- touch ran
  [[ "$output" == *update* ]]
  [ "$(server hget "$key" mode)" = update ]
  [ ! -e ran ]
}

# bats test_tags=all
@test "a cluster: both forms of publishing are heard and used; a name whose keys are in several slots is refused" {
  local node=${DLOCK_TEST_CLUSTER#redis+cluster://}
  node=redis://${node%%,*}
  use "$DLOCK_TEST_CLUSTER?layout=redisson"
  for key in 'a{b' 'a{}b'; do
    run -78 dlock run "$key" -- touch ran
    [[ "$output" == *"several slots"* ]]
  done
  for key in plain:1 'in{one}slot'; do
    hold_lock "$key"
    start_watched waiter dlock run -q "$key" -- true
    wait_until waits_in_cluster "$node" "redisson_lock__channel:"
    let_go
    [ "$(how_ended waiter)" = "exit 0" ]
  done
  [ ! -e ran ]
}
waits_in_cluster() { # NODE PREFIX: on some node, in both forms
  local port all=
  for port in $(redis-cli -u "$1" cluster slots | grep -E '^[0-9]{4,5}$' | sort -u); do
    all+=$(redis-cli -p "$port" pubsub channels "$2*" 2>/dev/null)$(redis-cli -p "$port" pubsub shardchannels "$2*" 2>/dev/null | sed 's/^/ shard /')
  done
  [[ "$all" == *"$2"*" shard $2"* ]]
}
