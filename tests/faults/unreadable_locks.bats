# SPDX-License-Identifier: Apache-2.0
# A lock that may not be read ends neither `dlock inspect` of all locks nor `dlock metrics`, on any store: it is named.
load ../support/cli
load ../support/redis
load ../support/deployments
load ../support/mysql
load ../support/zookeeper
load ../support/zookeeper_peers

setup() {
  set_world
}
teardown() {
  end_world
}

# two_locks [CLOSED]: that one, or "closed", and "open" are held.
two_locks() {
  closed=${1:-closed}
  dlock acquire --ttl 60s "$closed"
  dlock acquire --ttl 60s open
}

# only_one_is_shown [OPTION...]: of the two; the other one is named, and is counted by metrics.
only_one_is_shown() {
  run -77 --separate-stderr dlock inspect "$@"
  [[ "$output" == "open  held"* && "$output" != *"$closed"* ]]
  [[ "$stderr" == *"1 lock in "*" cannot be read: $closed ("* ]]
  run -0 dlock metrics "$@"
  [[ "$output" == *"dlock_unreadable_locks{"*"} 1"* ]]
  [[ "$output" == *'key="open"'* ]]
}

# for_others_only_open NAME...: servers whose user "app" may use all keys but those of "closed".
for_others_only_open() {
  local server
  for server; do redis_cli "$server" acl setuser app on '>right' '~open*' '~*open*' '&*' '+@all'; done
  export DLOCK_PASSWORD=right
}

@test "a lock whose file is damaged: local" {
  use "local:$locks"
  run -0 dlock acquire --ttl 60s one
  closed=$(basename "$locks"/*.lock)
  printf 'no lock file at all' | dd of="$locks/$closed" conv=notrunc status=none
  run -0 dlock acquire --ttl 60s open
  only_one_is_shown
}

@test "a lock that may not be read: Redis" {
  start_redis one
  use "$(redis_url one)"
  two_locks
  for_others_only_open one
  only_one_is_shown -b "redis://app@127.0.0.1:$(port_of one)"
}

@test "a lock that may not be read: Redisson's layout" {
  start_redis one
  use "$(redis_url one)?layout=redisson"
  two_locks
  for_others_only_open one
  only_one_is_shown -b "redis://app@127.0.0.1:$(port_of one)?layout=redisson"
}

# bats test_tags=all
@test "a lock that may not be read: a cluster" {
  start_cluster
  use "$url"
  two_locks
  for_others_only_open a b c
  only_one_is_shown -b "${url/:\/\//://app@}"
}

@test "a lock that may not be read: RedLock" {
  local server hosts=""
  for server in one two three; do
    start_redis "$server" --appendonly yes # or it has no vote yet
    hosts+=${hosts:+,}$(address "$server")
  done
  use "redlock://$hosts"
  two_locks
  for_others_only_open one two three
  only_one_is_shown -b "redlock://app@$hosts"
}

@test "a lock that may not be read: MySQL" {
  start_mysql_with_tables one
  use "$(mysql_url one)"
  two_locks
  sql one "UPDATE locks.dlock_data SET text = 'of another program' WHERE space = 'lock' AND name = 'closed'"
  only_one_is_shown
}

@test "a lock that may not be read: ZooKeeper" {
  start_zookeeper one
  use "$(zookeeper_url one)/app"
  two_locks folder/closed
  kazoo peer
  ask peer hide /app/folder
  only_one_is_shown
}

@test "a lock that may not be read: this machine" {
  local file
  need_root
  open_world
  two_locks
  chmod 755 "$locks"
  for file in "$locks"/*.lock; do chmod 644 "$file"; done
  file=$(grep -l closed "$locks"/*.lock)
  chmod 600 "$file"
  run -77 nobody dlock inspect
  [[ "$output" == *"open  held"* && "$output" == *"1 lock in "*" cannot be read: ${file##*/} ("* ]]
}
