# SPDX-License-Identifier: Apache-2.0
# Stocks in Redis when something goes wrong: connections cut behind every single message, servers killed and started
# again, networks that are silent. Each test has a server of its own.
load ../support/cli
load ../support/redis
load ../support/stock

setup() { set_world; }
teardown() { end_world; }

through_proxy() {
  start_redis one
  start_proxy one
  direct=$(redis_url one)
  use "$(redis_url proxy)"
}

@test "cut behind every message: a take is one take" {
  through_proxy
  create 100 7
  cuts_in_a_take 3
}

# bats test_tags=all
@test "cut behind every message: a refund is one refund, a restock one restock" {
  through_proxy
  create 100 7
  cuts_in_refunds_and_restocks 5
}

# bats test_tags=all
@test "cut behind every message: create, resize, rebalance and drop do not fall over themselves" {
  through_proxy
  create 10 3 # for balanced
  cuts_in_what_changes_the_segments
}

# bats test_tags=all
@test "cut behind every message: a run sells once and runs once" {
  through_proxy
  create 100 7
  cuts_in_a_run 2
}

@test "a black hole: CMD is ended with 79 before its time is over, nothing is sold, the part comes back" {
  through_proxy
  create 10 2
  black_hole 2
}

@test "CMD ends with 0, but nobody can be told: 69, and the same request again finds out" {
  through_proxy
  sale_without_an_answer
}

# bats test_tags=all
@test "the server is killed and comes back with its data while CMD runs: sold once" {
  start_redis one --appendonly yes --appendfsync always
  use "$(redis_url one)"
  create 10 2
  run_until_told a --qty 2 --id a --ttl 20s
  kill_redis one
  restart_redis one
  is reserved 2
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  is taken 2
  is total 8
}

@test "the server comes back empty: what was set aside is not sold, 79" {
  start_redis one
  use "$(redis_url one)"
  create 10 2
  start_watched a dlock stock run phone --qty 2 --ttl 2s -- sh -c 'touch inside; exec sleep 60'
  wait_until test -e inside
  kill_redis one
  restart_redis one
  create 10 2
  [ "$(how_ended a)" = "exit 79" ]
  is taken 0
  is total 10
}

# bats test_tags=all
@test "while the server is away a take waits for it, until the connect timeout: 69" {
  start_redis one
  use "$(redis_url one)"
  create 10 2
  kill_redis one
  take_waits_for_its_server 78 restart_redis one # it is there again, and empty
}

@test "who was answered once waits through an outage that is shorter than its wait, and then has what comes back" {
  start_redis one --appendonly yes --appendfsync always
  use "$(redis_url one)"
  create 2 1
  run_until_told a --qty 2 --id a --ttl $((60 * slowness))s
  start_watched patient dlock stock run phone -w $((60 * slowness)) --connect-timeout "${slowness}s" -- touch ran 2>told
  wait_until grep -q 'waiting for phone' told
  kill_redis one
  sleep $((3 * slowness)) # longer than its connect timeout: what is tested is that time does nothing
  [ ! -e patient ]
  restart_redis one
  dlock stock add phone --qty 1
  how_ended patient
  cat told
  [ "$(cat patient)" = "exit 0" ]
  [ -e ran ]
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  is taken 3
}

@test "too few replicas have it: unknown, said to be unsafe; the same id again is safe once they have it" {
  start_redis one
  create_url=$(redis_url one)
  use "$create_url"
  create 10 2
  run -69 dlock stock take phone --id a -b "$create_url?wait_replicas=1" --connect-timeout 1s
  [[ "$output" == *"0 of 1 replica"*"same --id"* ]]
  start_redis two --replicaof 127.0.0.1 "$(port_of one)"
  wait_until redis_line two master_link_status:up info replication
  run -0 dlock stock take phone --id a -b "$create_url?wait_replicas=1"
  is taken 1
}

# bats test_tags=all
@test "no memory left: a take is refused, what gives back goes through" {
  start_redis one
  use "$(redis_url one)"
  create 10 2
  dlock stock take phone --qty 4 --id a
  start_watched run dlock stock run phone --qty 2 --id b -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done; exit 1'
  wait_until test -e inside
  redis_cli one config set maxmemory 1
  run -69 dlock stock take phone --connect-timeout 1s
  [[ "$output" == *"out of memory"* && "$output" != *" lock"* ]]
  run -0 dlock stock refund phone --id a
  touch go
  [ "$(how_ended run)" = "exit 1" ]
  redis_cli one config set maxmemory 0
  is total 10
}

# bats test_tags=all
@test "the rights that dlock-redis(7) lists are enough for a stock; without its keys it is 77" {
  start_redis one
  local rights url
  rights=$(sed -n '/^ACL SETUSER/,/^```/p' "$root/man/dlock-redis.7.scd" | grep -v '```' | tr -s ' \n' ' ' | grep -oE '[+~&][^ ]+')
  # shellcheck disable=SC2086
  redis_cli one acl setuser seller on '>pw' ${rights/~dlock\*/}
  url=redis://seller@127.0.0.1:$(port_of one)
  export DLOCK_PASSWORD=pw
  run -77 dlock stock take phone -b "$url"
  # shellcheck disable=SC2086
  redis_cli one acl setuser seller $rights
  use "$url"
  create 10 4
  run -0 dlock stock take phone --qty 5 --id a
  run -0 dlock stock refund phone --id a
  run -0 dlock stock run phone --id b --mode lock -- true
  run -0 dlock stock add phone --qty 3
  run -0 dlock stock resize phone --segments 2
  run -0 dlock stock rebalance phone
  run -0 dlock stock show
  [[ "$output" == *"12 left"* ]]
  run -0 dlock stock drop phone --yes
}

# The stock is right without any one of the rights to write, and the same requests go through once it is there again.
each_right_missing() {
  local right n=0
  for right in del hdel hset set; do
    n=$((n + 1)) phone=phone$n
    create 20 4
    dlock stock take "$phone" --qty 3 --id old
    dlock stock take "$phone" --qty 2 --id older
    redis_cli one acl setuser seller "-$right"
    echo "without $right ($DLOCK_BACKEND)"
    run dlock stock take "$phone" --qty 2 --id a
    echo "take: $status $output"
    run dlock stock take "$phone" --qty 7 --id b # from two segments
    echo "take of several: $status $output"
    run dlock stock batch "$phone" < <(printf 'take c%s\n' 1 2 3)
    echo "batch: $status $output"
    run dlock stock refund "$phone" --qty 2 --id old
    echo "refund: $status $output"
    run dlock stock add "$phone" --qty 4 --id more
    echo "add: $status $output"
    run dlock stock run "$phone" --id d --ttl 1s -- true
    echo "run: $status $output"
    run dlock stock run "$phone" --id e --ttl 1s -- false
    echo "run that fails: $status $output"
    run dlock stock resize "$phone" --segments 3
    echo "resize: $status $output"
    redis_cli one acl setuser seller "+$right"
    run -0 dlock stock batch "$phone" < <(printf '%s\n' 'take a 2' 'take b 7' 'take c1' 'take c2' 'take c3' 'refund old 2' 'add more 4')
    echo "again: $output"
    [[ "$output" != *error* ]]
    wait_until nothing_open # what could not be confirmed or given back comes back by itself
    run -0 dlock stock run "$phone" --id d -- true
    dlock stock show "$phone"
    balanced
    # 20 + 4, less 3 + 2 + 2 + 7 + 3 + 1, and 2 back
    is total 8
    is taken 18
  done
}

# bats test_tags=all
@test "without any one of the rights a step is done or not, and the stock is right" {
  start_redis one
  local rights
  rights=$(sed -n -e '/^ACL SETUSER dlock on/,/^```/p' -e '/^and on a cluster.*Stocks/p' "$root/man/dlock-redis.7.scd" |
    grep -oE '\+[a-z|]+' | grep -vE '[+]ex(set|get|incrby)' | sort -u)
  export DLOCK_PASSWORD=pw
  # shellcheck disable=SC2086
  redis_cli one acl setuser seller on '>pw' '~*' '&*' $rights
  use "redis://seller@127.0.0.1:$(port_of one)"
  each_right_missing
}

# bats test_tags=all
@test "a stock that has sold as many as it can count refuses the next take and stays as it is" {
  start_redis one
  local most=9007199254740992
  use "$(redis_url one)"
  create "$most" 1
  dlock stock take phone --qty "$most" --id a
  dlock stock refund phone --id a
  run -78 dlock stock take phone --id b
  [[ "$output" == *"as many items as it can count"* && "$output" != *inconsistent* ]]
  run -78 dlock stock run phone --id c -- touch ran
  run -78 dlock stock batch phone <<<'take d'
  is taken "$most"
  balanced
  [ ! -e ran ]
}

# bats test_tags=all
@test "a server that is silent: 69 says that a take or a restock may have been done, and how to repeat it once" {
  through_proxy
  create 10 2
  take_from_a_silent_server
}
