# SPDX-License-Identifier: Apache-2.0
# Redisson's locks on their own keys, through the program: what it leaves on the server, what it says of what others have
# left there, and who wakes whom. Redisson's part is played by the commands that its scripts run.
load ../support/cli

setup() {
  set_world
  [ "${DLOCK_TEST_SERVERS-}" ] || skip "no servers: scripts/start-test-servers /tmp/s && . /tmp/s/env"
  key=order:$BATS_TEST_NUMBER.$$
  store=$DLOCK_TEST_REDIS
  theirs=11111111-2222-4333-8444-555555555555:7
}
teardown() { end_world; }

server() { redis-cli -u "$store" "$@"; } # WORD...
kind() { use "$store?layout=redisson&kind=$1"; }
holds_theirs() { server hset "$key" "$theirs" 1 >/dev/null && server pexpire "$key" "${1:-30000}" >/dev/null; } # [MS]
releases_theirs() { server eval "redis.call('DEL',KEYS[1]) redis.call('PUBLISH',ARGV[1],'0')" 1 "$key" "redisson_lock__channel:{$key}"; }
# hears FILE CHANNEL: what is published there, from now on.
hears() {
  server --csv subscribe "$2" >"$1" 3>&- &
  started+=("$!")
  wait_until lines_in "$1" 1
}
waits() { [ "$(server pubsub numsub "$1" | tail -n 1)" -gt 0 ]; } # CHANNEL

@test "kind=lock: the hash, its count and its lease are Redisson's; a command inside enters the same hold; the last one tells" {
  kind lock
  hears said "redisson_lock__channel:{$key}"
  run -0 --separate-stderr dlock run --ttl 20s "$key" -- sh -c "echo \"\$DLOCK_OWNER [\$DLOCK_TOKEN]\"
    redis-cli -u $store hgetall $key; redis-cli -u $store pttl $key
    dlock run $key -- redis-cli -u $store hvals $key; redis-cli -u $store hvals $key; cat said"
  local owner=${lines[0]%% *}
  [ "${lines[0]}" = "$owner []" ]
  [ "${lines[1]}" = "${owner:0:8}-${owner:8:4}-${owner:12:4}-${owner:16:4}-${owner:20}:1" ]
  [ "${lines[2]}" = 1 ]
  ((lines[3] > 10000 && lines[3] <= 20000))
  [ "${lines[4]}" = 2 ]
  [ "${lines[5]}" = 1 ]
  [[ "${lines[*]:6}" == *subscribe* ]]
  [[ "${lines[*]:6}" != *'"message"'* ]]
  wait_until grep -q '^"message"' said
  [ "$(tail -n 1 said)" = "\"message\",\"redisson_lock__channel:{$key}\",\"0\"" ]
  [ "$(server exists "$key" "dlock:{$key}:holders")" = 0 ]
}

@test "a service's lock is waited for, and its message is heard; its end is found without one" {
  kind lock
  holds_theirs
  run -75 dlock run -n "$key" -- touch ran
  [[ "$output" == *"$key is held by owner $theirs"* ]]
  [ "$(holder_field "$key" owner) $(holder_field "$key" count)" = "$theirs 1" ]
  [ "$(dlock inspect --json "$key" | jq .waiters_known)" = false ]
  start_watched waiter dlock run -q "$key" -- sh -c 'now_ms() { awk "{ printf \"%d\\n\", \$1 * 1000 }" /proc/uptime; }; now_ms >got'
  wait_until waits "redisson_lock__channel:{$key}"
  local before
  before=$(now_ms)
  releases_theirs
  [ "$(how_ended waiter)" = "exit 0" ]
  (($(cat got) - before < 500))
  holds_theirs 700
  run -0 dlock run -w 5s "$key" -- true
  [ ! -e ran ]
}

@test "a service's forceUnlock ends the command at once; force-release frees a service's lock with its message" {
  kind lock
  start_watched holder dlock run -q --ttl 20s --kill-after 1s "$key" -- sleep 100
  wait_until is_held "$key"
  wait_until waits "redisson_lock__channel:{$key}"
  releases_theirs
  [ "$(how_ended holder)" = "exit 79" ]
  holds_theirs
  hears said "redisson_lock__channel:{$key}"
  run -0 dlock force-release --yes "$key"
  wait_until lines_in said 2
  is_free "$key"
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

@test "kind=fenced: Redisson's counter is the token; it grows over services and dlock" {
  kind fenced
  run -0 dlock run "$key" -- printenv DLOCK_TOKEN
  [ "$output" = 1 ]
  server incr "redisson_lock_token:{$key}"
  run -0 dlock run "$key" -- sh -c "echo \$DLOCK_TOKEN; dlock check $key 3 && ! dlock check $key 2"
  [ "${lines[0]}" = 3 ]
  holds_theirs
  server incr "redisson_lock_token:{$key}"
  [ "$(holder_field "$key" token)" = 4 ]
  run -75 dlock run -n "$key" -- true
  [ "$(server get "redisson_lock_token:{$key}") $(server pttl "redisson_lock_token:{$key}")" = "4 -1" ]
}

@test "kind=spin: released with a message all the same, and a release without one is found" {
  kind spin
  holds_theirs
  start_watched waiter dlock run -q "$key" -- true
  wait_until waits "redisson_lock__channel:{$key}"
  server del "$key"
  [ "$(how_ended waiter)" = "exit 0" ]
}

@test "kind=rw: readers together, a writer alone; each is Redisson's own, with the life of each read" {
  kind rw
  run -0 dlock run --shared "$key" -- sh -c "redis-cli -u $store hget $key mode; redis-cli -u $store --raw keys '{$key}:*:rwlock_timeout:*'
    env -u DLOCK_HELD dlock run -n --shared $key -- redis-cli -u $store hlen $key
    env -u DLOCK_HELD dlock run -n -q $key -- true || echo \$?"
  [ "${lines[0]}" = read ]
  [[ "${lines[1]}" == "{$key}:"*":1:rwlock_timeout:1" ]]
  [ "${lines[2]} ${lines[3]}" = "3 75" ]
  [ -z "$(server keys "*{$key}*rwlock_timeout*")" ]
  hears said "redisson_rwlock:{$key}"
  run -0 dlock run "$key" -- sh -c "redis-cli -u $store --raw hkeys $key; env -u DLOCK_HELD dlock run -n -q --shared $key -- true || echo \$?"
  [[ "$output" == *:1:write* && "$output" == *mode* && "$output" == *75 ]]
  wait_until lines_in said 2
  [[ "$(tail -n 1 said)" == *'"1"' ]]
}

@test "kind=fair: first come, first served, in Redisson's queue; who gave up is not in it, who died is passed over" {
  kind fair
  holds_theirs
  start_watched first dlock run -q "$key" -- sh -c 'echo first >>order'
  wait_until has 1 waiters "$key"
  start_watched second dlock run -q "$key" -- sh -c 'echo second >>order'
  wait_until has 2 waiters "$key"
  [ "$(server llen "redisson_lock_queue:{$key}")" = 2 ]
  run -75 dlock run -n "$key" -- true
  run -75 dlock run -w 300ms "$key" -- true
  [ "$(server llen "redisson_lock_queue:{$key}")" = 2 ]
  local next
  next=$(server lindex "redisson_lock_queue:{$key}" 0)
  server eval "redis.call('DEL',KEYS[1]) redis.call('PUBLISH',ARGV[1],'0')" 1 "$key" "redisson_lock__channel:{$key}:$next"
  [ "$(how_ended first) $(how_ended second)" = "exit 0 exit 0" ]
  [ "$(cat order)" = $'first\nsecond' ]
  [ "$(server exists "redisson_lock_queue:{$key}" "redisson_lock_timeout:{$key}")" = 0 ]
  holds_theirs
  server rpush "redisson_lock_queue:{$key}" "$theirs-dead"
  server zadd "redisson_lock_timeout:{$key}" "$(($(date +%s%3N) + 1500))" "$theirs-dead"
  server del "$key"
  run -0 dlock run -w 10s "$key" -- true
}

@test "kind=fair: those after a dlock that gives up wait the less for it" {
  kind fair
  holds_theirs
  start_watched waiter dlock run -q "$key" -- true
  wait_until has 1 waiters "$key"
  local until=$(($(date +%s%3N) + 300000))
  server rpush "redisson_lock_queue:{$key}" "$theirs-next"
  server zadd "redisson_lock_timeout:{$key}" "$until" "$theirs-next"
  kill -TERM "$(pid_of waiter)"
  how_ended waiter
  [ "$(server lrange "redisson_lock_queue:{$key}" 0 -1)" = "$theirs-next" ]
  [ "$(server zscore "redisson_lock_timeout:{$key}" "$theirs-next")" = "$((until - 5000))" ]
}

@test "kind=semaphore and kind=permits: made with N, shared with the services, given back with their message" {
  local object
  for object in semaphore permits; do
    kind "$object"
    key=$object:$BATS_TEST_NUMBER.$$
    run -78 dlock run "$key" -- true
    [[ "$output" == *"--permits N"* ]]
    run -0 dlock run --permits 2 "$key" -- redis-cli -u "$store" get "$key"
    [ "$output" = 1 ]
    [ "$(server get "$key")" = 2 ]
    hears "said.$object" "redisson_sc:{$key}"
    run -0 dlock run --permits 2 "$key" -- sh -c "env -u DLOCK_HELD dlock run --permits 2 $key -- redis-cli -u $store get $key"
    [ "$output" = 0 ]
    wait_until lines_in "said.$object" 3
    [ "$(tail -n 2 "said.$object" | cut -d '"' -f 6 | tr '\n' ' ')" = "1 2 " ]
    local owners=()
    for _ in 1 2; do owners+=("$(dlock acquire --permits 2 --ttl 1m "$key")"); done
    run -75 dlock run -n --permits 2 "$key" -- true
    has 2 holders "$key"
    for owner in "${owners[@]}"; do run -0 dlock release --owner "$owner" "$key"; done
    run -79 dlock renew --owner "$owner" "$key"
    [[ "$output" == *"no such lock any more"* ]] # not that somebody else holds it
    [ "$(server get "$key")" = 2 ]
  done
  [ "$(server exists "{$key}:timeout")" = 0 ]
}

@test "what another family has left at the key is said in words, with the layout to name, and nothing is changed" {
  local made
  made() { server del "$key" >/dev/null && server "$@" >/dev/null; }
  says() { # KIND WORDS
    if [ "$1" = native ]; then use "$store"; else kind "$1"; fi
    local words=()
    [[ $1 != semaphore && $1 != permits ]] || words=(--permits 2)
    run "${3:--75}" dlock run -n "${words[@]}" "$key" -- touch ran
    echo "$1: $output"
    [[ "$output" == *"$2"* && "$output" != *WRONGTYPE* ]]
  }
  made hset "$key" mode read "$theirs" 1
  says native 'a Redisson read lock; add ?layout=redisson&kind=rw'
  says lock 'a Redisson read lock; add ?layout=redisson&kind=rw'
  says semaphore 'a Redisson read lock; add ?layout=redisson&kind=rw'
  made hset "$key" mode write "$theirs:write" 1
  says fair 'a Redisson write lock; add ?layout=redisson&kind=rw'
  made hset "$key" "$theirs" 1
  says native 'a Redisson lock; add ?layout=redisson&kind=lock'
  says rw 'a Redisson lock; add ?layout=redisson&kind=lock'
  says permits 'a Redisson lock; add ?layout=redisson&kind=lock'
  made set "$key" 3
  says native 'kind=semaphore' -78
  says lock 'kind=semaphore' -78
  made set "$key" some-token
  says fenced 'another lock client'
  made rpush "$key" a
  says lock 'not a lock of a known kind: a list' -78
  [ "$(server lrange "$key" 0 -1)" = a ]
  [ ! -e ran ]
  made hset "$key" a b
  says lock 'not a lock of a known kind: a hash' -78
  made hset "$key" mode read "$theirs" 1
  run -78 dlock force-release --yes --foreign-data "$key"
  [[ "$output" == *"$key is not held by a Redisson lock"* ]]
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
  [[ "$output" == *"$key waits no longer for"*"$theirs"* ]]
  [ "$(server exists "redisson_lock_queue:{$key}" "redisson_lock_timeout:{$key}")" = 0 ]
  run -0 dlock run -n "$key" -- true
  run -0 dlock force-release --yes "$key"
  [[ "$output" == *"free already"* ]]
}

@test "force-release frees a permit whose id is not of 16 bytes" {
  kind permits
  server set "$key" 0
  server zadd "{$key}:timeout" 9999999999999 longer-than-16-bytes-and-not-hexadecimal
  run -0 dlock force-release --yes "$key"
  [ "$(server get "$key")" = 1 ]
}

@test "a lock without an end is said to have none and waited for; what Redisson cannot have written is 78" {
  kind lock
  server hset "$key" "$theirs" 1
  run -75 dlock run -w 200ms "$key" -- touch ran
  [[ "$output" == *"no end of its lease (no TTL)"* ]]
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
