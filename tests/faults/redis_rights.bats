# SPDX-License-Identifier: Apache-2.0
# Passwords, rights and keys that are not as dlock needs them, on a server of one's own.
load ../support/cli
load ../support/redis

setup() {
  set_world
  start_redis one
  use "$(redis_url one)"
}
teardown() { end_world; }

use() { export DLOCK_BACKEND=$1; } # URL

# --- a wrong password ------------------------------------------------------------------------------------------------

@test "a wrong password where nobody needs one: 77, and what was done without it is undone" {
  redis_cli one acl setuser app on '>right' '~*' '&*' '+@all'
  local url
  url=redis://app@127.0.0.1:$(port_of one)
  DLOCK_PASSWORD=wrong run -77 dlock run -b "$url" --ttl 60s k -- touch ran
  [[ "$output" == *WRONGPASS* ]]
  [ ! -e ran ]
  [ "$(redis_cli one exists k)" = 0 ]
  DLOCK_PASSWORD=useless run -77 dlock run --ttl 60s k -- touch ran
  [[ "$output" == *"leave it out"* ]]
  [ ! -e ran ]
  [ "$(redis_cli one exists k)" = 0 ]
  DLOCK_PASSWORD=right run -0 dlock run -n -b "$url" k -- true
}

# bats test_tags=all
@test "a user of some keys alone is shown those, and how many not (77); what he is told to do next can be done" {
  redis_cli one acl setuser app on '>right' '~app:*' '~dlock:*app:*' '&*' '+@all'
  dlock acquire --ttl 60s other
  dlock acquire --ttl 60s app:k
  local url
  url=redis://app@127.0.0.1:$(port_of one)
  export DLOCK_PASSWORD=right
  run -77 --separate-stderr dlock inspect -b "$url"
  [[ "$output" == "app:k  held"* ]]
  [[ "$stderr" == *"1 lock in "*" cannot be read"* ]]
  run -77 dlock run -b "$url" other -- true
  [[ "$output" == *"dlock doctor -b $url" ]] # not with *** for the password
}

# What the server has, with the rest of each lease in seconds (a renewal would make it longer).
everything_on_it() {
  local key
  redis_cli one --scan | sort | while read -r key; do
    echo "$key $(redis_cli one ttl "$key" | awk '{ print $1 > 1000 ? "long" : $1 > 0 ? "short" : $1 }') $(redis_cli one dump "$key" | md5sum)"
  done
}
# changes_nothing WORD...: 77 with a password that nobody wants, and all is as it was.
changes_nothing() {
  local before
  before=$(everything_on_it)
  DLOCK_PASSWORD=useless run -77 dlock "$@"
  [[ "$output" == *"without any password"* ]]
  [ ! -e ran ]
  diff <(echo "$before") <(everything_on_it)
}
# What takes a lock has asked for it by then, and given it back: its last token stays, as after any release.
nothing_but_a_token() { # KEY
  wait_until keeps_no "$1"
  DLOCK_PASSWORD=useless run -77 dlock run -n "$1" -- touch ran
  [[ "$output" == *"without any password"* ]]
  [ ! -e ran ]
  wait_until keeps_no "$1"
}
keeps_no() { [ "$(redis_cli one --scan --pattern "*$1*" | grep -cvx "dlock:{$1}:fence")" = 0 ]; } # KEY

# bats test_tags=all
@test "a password where nobody needs one: no command has done anything, 77" {
  redis_cli one set other 1
  changes_nothing stock create s --quantity 8
  dlock stock create s --quantity 8
  dlock stock take s --id earlier
  local owner token
  read -r owner token < <(dlock acquire --ttl 600s k)
  changes_nothing stock take s --id x
  changes_nothing stock refund s --id earlier
  changes_nothing stock add s --qty 3 --id x
  changes_nothing stock rebalance s
  changes_nothing stock resize s --segments 2
  changes_nothing stock drop s --yes
  changes_nothing stock run s --id y -- touch ran
  changes_nothing fence k 99999999999999999 -- touch ran
  changes_nothing renew --ttl 3000s --owner "$owner" k
  changes_nothing release --owner "$owner" k
  changes_nothing force-release --yes k
  changes_nothing check k "$token"
  changes_nothing ping
  changes_nothing gc
  changes_nothing inspect
}

# bats test_tags=all
@test "the same on redlock://" {
  redis_cli one config set appendonly yes # or it has no vote for ten minutes
  start_redis two --appendonly yes
  use "redlock://127.0.0.1:$(port_of one),127.0.0.1:$(port_of two)"
  local owner
  read -r owner _ < <(dlock acquire --ttl 600s k)
  changes_nothing fence k 99999999999999999 -- touch ran
  changes_nothing renew --ttl 3000s --owner "$owner" k
  changes_nothing release --owner "$owner" k
  changes_nothing force-release --yes k
  nothing_but_a_token j
}

# bats test_tags=all
@test "doctor of a RedLock: a server that refuses the password is a failure, with what is wrong with it; one that is down a warning" {
  local name
  for name in two three; do start_redis "$name" --appendonly yes --requirepass other; done
  redis_cli one config set appendonly yes
  start_redis five --appendonly yes
  start_redis six --appendonly yes
  use "redlock://$(for name in one five six two three; do echo "127.0.0.1:$(port_of "$name")"; done | paste -sd ,)"
  run -77 dlock doctor
  for name in two three; do [[ "$output" == *"fail"*":$(port_of "$name"): "*NOAUTH* ]]; done
  [[ "$output" == *"3 of 5 servers answer"* && "$output" != *"start it, or see its log"* ]]
  use "redlock://127.0.0.1:$(port_of one),127.0.0.1:$(port_of five),127.0.0.1:1"
  run -0 dlock doctor
  [[ "$output" == *warn*"start it, or see its log"* ]]
}

# --- rights ----------------------------------------------------------------------------------------------------------

# The rights that the man page lists, given to the user "deploy" on "one", with other key patterns than it has.
grant_rights_of_the_man_page() { # PATTERN...
  local words
  mapfile -t words < <(sed -n '/^ACL SETUSER dlock/,/^```/p' "$root/man/dlock-redis.7.scd" | grep -v '```' | tr -s ' ' '\n' |
    sed -e 1,3d -e '/^on$/d' -e '/^>/d' -e '/^~/d' -e '/^$/d')
  [ "${#words[@]}" -gt 30 ]
  redis_cli one acl setuser deploy on '>secret' "$@" "${words[@]}"
  export DLOCK_PASSWORD=secret
  use "redis://deploy@127.0.0.1:$(port_of one)"
}
everything_works_with() { # KEY
  run -0 dlock run "$1" -- dlock run "$1" -- true
  run -0 dlock run --fair -s "$1" -- true
  run -0 dlock run --permits 2 --lock-delay 1s "$1" -- true
  hold_lock "$1"
  start_watched waiter dlock run -q "$1" -- true
  wait_until has 1 waiters "$1"
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
  local owner
  read -r owner _ < <(dlock acquire --ttl 20s "$1")
  run -0 dlock renew --owner "$owner" "$1"
  run -0 dlock release --owner "$owner" "$1"
  hold_lock "$1"
  run -0 dlock force-release --yes "$1"
  let_go || [ $? = 79 ]
  run -0 dlock fence "$1" 7 -- true
  run -0 dlock wait -n "$1"
  run -0 dlock inspect
  run -0 dlock gc
}

@test "a user with the rights of the man page: every command works" {
  grant_rights_of_the_man_page '~deploy/*' '~dlock*'
  everything_works_with deploy/x
  run -0 dlock ping
  run -0 dlock doctor
}

# bats test_tags=all
@test "a user with the rights of the man page for some keys only: every command works there but doctor and ping, which say why" {
  grant_rights_of_the_man_page '~deploy/*' '~dlock:{deploy/*' '~dlock:key:{deploy/*'
  everything_works_with deploy/x
  run -77 dlock run -n other -- true
  run -77 dlock ping
  run -77 dlock doctor
  [[ "$output" != *" on @"* && "$output" == *"access "*" key"*"man dlock-redis"* ]] # "one of the keys" up to Redis 7.0, "a key" since
  redis_cli one acl setuser deploy '~dlock:{doctor}:fence' '~dlock-ping-*' '~dlock:{dlock-ping-*'
  run -0 dlock ping
  run -0 dlock doctor
}

@test "a right that a script lacks is 77 and named, in whatever words this version of Redis says so" {
  grant_rights_of_the_man_page '~*'
  redis_cli one acl setuser deploy -set
  run -77 dlock run -n k -- touch ran
  [[ "$output" == *"can't run this command"*"man dlock-redis"* || "$output" == *"'set'"*"man dlock-redis"* ]]
  run -77 dlock acquire --ttl 20s k
  redis_cli one acl setuser deploy +set
  run -0 dlock run -n k -- true
  [ ! -e ran ]
}

# bats test_tags=all
@test "each right that is missing is found before the lock is had, 77, and nothing is held then; or it is not needed" {
  grant_rights_of_the_man_page '~*'
  local right mode
  redis_cli one config set appendonly yes # or it has no vote in a RedLock yet
  start_redis two --appendonly yes
  redis_cli two acl setuser deploy on '>secret' '~*' '&*' +@all
  for right in $(sed -n '/^ACL SETUSER dlock on/,/^```/p' "$root/man/dlock-redis.7.scd" | grep -oE '\+[a-z|]+' | tr -d +); do
    redis_cli one acl setuser deploy "-$right"
    for mode in '' --shared '--permits 2'; do
      # shellcheck disable=SC2086
      run dlock run -n $mode k -- touch "ran-$right"
      echo "without $right, $mode: $status $output"
      [ "$(redis_cli one exists k)" = 0 ]
      [[ $status = 0 || ($status = 77 && ! -e ran-$right) ]]
      rm -f "ran-$right"
    done
    [ "$status" = 0 ] || dlock doctor | grep -q "ACL SETUSER deploy +$right;\|'$right'"
    if [[ $right =~ ^(type|exists)$ ]]; then
      [ "$status" = 0 ]
      run -0 dlock doctor # no lock needs these
      [[ "$output" == *warn*"ACL SETUSER deploy +$right;"* || $(redis_cli one info server) != *redis_version:[789]* ]]
    fi
    run dlock run -b "redlock://deploy@127.0.0.1:$(port_of one),127.0.0.1:$(port_of two)" -n k -- touch "ran-$right"
    echo "redlock without $right: $status $output"
    [ "$(redis_cli one exists k)" = 0 ]
    [ "$(redis_cli one ttl 'dlock:{k}:holders')" != -1 ] # nor a record that stays
    [[ $status = 0 || ($status = 77 && ! -e ran-$right) ]]
    rm -f "ran-$right"
    redis_cli one acl setuser deploy "+$right"
  done
}

# bats test_tags=all
@test "without PUBLISH or its channels: doctor says which right is missing, and waiters look by themselves" {
  grant_rights_of_the_man_page '~*'
  local rule
  for rule in '-publish|+publish' 'resetchannels &__redis__:invalidate|&dlock:*'; do
    # shellcheck disable=SC2086
    redis_cli one acl setuser deploy ${rule%|*}
    run -0 dlock doctor
    [[ "$output" == *"may not publish"*"ACL SETUSER deploy "*"${rule#*|}"* ]]
    [[ $rule != -publish* || "$output" != *"&dlock"* ]]
    # Each look of a waiter is a script: several in a second, where a message would come after 5 s of silence.
    hold_lock k
    start_watched w dlock run k -- true
    wait_until redis_line one 1 zcard 'dlock:{k}:queue'
    redis_cli one config resetstat
    sleep 1
    [ "$(redis_cli one info commandstats | grep -oP '^cmdstat_eval:calls=\K[0-9]+')" -ge 3 ]
    let_go
    [ "$(how_ended w)" = "exit 0" ]
    redis_cli one acl setuser deploy +publish '&dlock:*'
  done
}

# bats test_tags=all
@test "the same for the locks of Redisson: nothing is left of one that was refused" {
  local right kind
  grant_rights_of_the_man_page '~*' '&redisson_*'
  # shellcheck disable=SC2046
  redis_cli one acl setuser deploy $(sed -n '/^~redisson_/,/^```/p' "$root/man/dlock-redis.7.scd" | grep -oE '\+[a-z]+')
  while read -r right kind; do
    redis_cli one acl setuser deploy "-$right"
    # shellcheck disable=SC2086
    run -77 dlock run -b "$DLOCK_BACKEND?layout=redisson&kind=${kind%% *}" -n ${kind#"${kind%% *}"} k -- touch ran
    echo "without $right, $kind: $output"
    [[ $(redis_cli one get k) =~ ^2?$ ]] # all permits are there
    [ ! -e ran ]
    redis_cli one flushall
    redis_cli one acl setuser deploy "+$right"
  done <<'LOCKS'
hget lock
hdel lock
get fenced
del rw
hincrby rw
hget rw -s
set rw -s
LOCKS
}

@test "who may not look who holds a lock gives back and shortens none that a running process holds: 77" {
  grant_rights_of_the_man_page '~*'
  redis_cli one acl setuser deploy -hgetall
  script inside <<'SCRIPT'
#!/bin/bash
dlock renew --ttl 1s --owner "$DLOCK_OWNER" k
echo "renew: $?"
dlock release --owner "$DLOCK_OWNER" k
echo "release: $?"
SCRIPT
  run -0 dlock run --ttl 60s k -- inside
  echo "$output"
  [[ "$output" == *"renew: 77"*"release: 77" ]]
  [[ "$output" == *hgetall*"man dlock-redis"* || "$output" == *"can't run this command"*"man dlock-redis"* ]]
}

# bats test_tags=all
@test "a server without a command that dlock needs, or with another name for it: 78, which one; no script is shown" {
  start_redis nameless --rename-command EVAL hidden
  run -78 dlock run -n -b "$(redis_url nameless)" k -- touch ran
  [[ "$output" == *"lacks a command that dlock needs"*"'EVAL'"*rename-command* && "$output" != *KEYS* ]]
  run -78 dlock doctor -b "$(redis_url nameless)"
  start_redis renamed --rename-command TIME hidden
  run -78 dlock run -n -b "$(redis_url renamed)" k -- touch ran
  [[ "$output" == *"lacks a command that dlock needs"*rename-command* && "$output" != *user_script* ]]
  [ ! -e ran ]
}

# bats test_tags=all
@test "an answer that is longer than client-output-buffer-limit allows: 69, and which setting may do that" {
  redis_cli one set k theirs px 600000
  redis_cli one eval "for i = 1, 4000 do redis.call('HSET', 'dlock:{k}:holders', 'o' .. i, string.rep('x', 100)) end" 0
  redis_cli one config set client-output-buffer-limit 'normal 64kb 0 0'
  run -69 dlock inspect k
  echo "$output"
  [[ "$output" == *"closed the connection"*client-output-buffer-limit* || "$output" == *reset*client-output-buffer-limit* ]]
}

# --- what others have written ----------------------------------------------------------------------------------------

# bats test_tags=all
@test "something else in dlock's own keys is 78 with what to look for; no script is shown, and nothing is held" {
  redis_cli one hset 'dlock:{k}:fence' field 1
  run -78 dlock run -n k -- touch ran
  [[ "$output" == *"dlock did not write"*"--pattern 'dlock:*'"* ]]
  redis_cli one del 'dlock:{k}:fence'
  redis_cli one set 'dlock:{k}:fence' nonsense
  run -78 dlock run -n k -- touch ran
  [[ "$output" == *"dlock did not write"* ]]
  redis_cli one del 'dlock:{k}:fence'
  redis_cli one set 'dlock:{k}:queue' nonsense
  redis_cli one set k theirs px 60000
  run -78 dlock run -w 1 k -- touch ran
  [[ "$output" == *"dlock did not write"* ]]
  [[ "$output" != *" on @"* ]]
  [ ! -e ran ]
  [ "$(redis_cli one get k)" = theirs ]
}

# --- a replica -------------------------------------------------------------------------------------------------------

fence_has_come() { redis_cli copy hget 'dlock:key:{k}' fence | grep -q 'seen 7'; }
# bats test_tags=all
@test "a replica in the URL: 69, it is called what it is, and the primary or the sentinels are asked for" {
  start_redis copy --replicaof 127.0.0.1 "$(port_of one)"
  wait_until redis_line copy master_link_status:up info replication
  dlock stock create s --quantity 8
  dlock fence k 7
  wait_until fence_has_come
  use "$(redis_url copy)"
  local words
  for words in 'run -n k -- touch ran' 'ping' 'fence k 8' 'stock take s --id x'; do
    # shellcheck disable=SC2086
    run -69 dlock $words
    echo "$words: $output"
    [[ "$output" == *"read-only replica"* && "$output" == *primary* ]]
  done
  [ ! -e ran ]
  use "redlock://127.0.0.1:$(port_of copy),127.0.0.1:$(port_of one)"
  run -69 dlock fence k 8
  [[ "$output" == *"read-only replica"* ]]
}

# --- what others wrote -----------------------------------------------------------------------------------------------

# bats test_tags=all
@test "a holder's record that is not UTF-8 and steers terminals: shown without harm, and valid as JSON" {
  local reason=$'\e[2J\xe0\x80\x80\xed\xa0\x80\xf4\x90\x80\x80\xff'
  redis_cli one set k owner px 60000
  redis_cli one hset 'dlock:{k}:holders' owner "7 0 0 owner host"$'\x1f'12$'\x1f'user$'\x1f'"$reason"
  run -0 dlock inspect k
  [[ "$output" == *host* && "$output" != *$'\e'* ]]
  dlock inspect --json k >shown
  "${python[@]}" -c 'import json; assert json.loads(open("shown", "rb").read().decode("utf-8"))["holders"][0]["host"] == "host"'
}

# bats test_tags=all
@test "the record of a shared holder is evicted: the lock is shown as held all the same" {
  hold_lock -s k
  redis_cli one del 'dlock:{k}:holders'
  run -0 dlock inspect k
  [[ "$output" == "k  held, shared "*"  holder  owner "* ]]
}

# bats test_tags=all
@test "a lock that thousands wait for: the first thousand are shown, and the number of all" {
  dlock acquire --ttl 60s k
  redis_cli one eval "for i = 1, 5000 do
    redis.call('ZADD', KEYS[1], i, i)
    redis.call('HSET', KEYS[2], i, '9000000000000 0 x 0 host' .. string.rep('x', 250))
  end" 2 'dlock:{k}:queue' 'dlock:{k}:waiting'
  run -0 dlock inspect k
  [[ "$output" == *"  waits 1000 "*$'\n  4000 more' ]]
  run -75 dlock run -n k -- true
  [[ "$output" == *"; 5000 others wait"* ]]
}

# What cannot be a lock is neither waited for nor called a client's, and an operator has to say that he means it.
# bats test_tags=all
@test "data at the name of a lock: 78 and what it is, at once; force-release deletes it only with --foreign-data" {
  local url layout made what server
  start_redis two --appendonly yes
  redlock=redlock://127.0.0.1:$(port_of one),127.0.0.1:$(port_of two)
  while IFS='|' read -r made what; do
    for url in "$DLOCK_BACKEND" "$DLOCK_BACKEND?layout=redisson&kind=lock" "$redlock"; do
      [[ $what != "a hash" || $url != redlock* ]] || continue # may be one of Redisson's
      for server in one two; do
        redis_cli "$server" del k
        if [ "$made" = long ]; then head -c 2000000 /dev/zero | tr '\0' x | redis_cli "$server" -x set k
        else eval "redis_cli $server $made"; fi
      done
      echo "$url: $made"
      run -78 dlock run -n --if-unavailable run -b "$url" k -- touch ran
      [[ "$output" == *"k holds data, not a lock of a known kind: $what"*"choose another key"* && "$output" != *wait* ]]
      run -78 timeout 5 dlock run -b "$url" k -- touch ran
      run -0 dlock inspect -b "$url" k
      [[ "$output" == *"no lock"*"$what"* && "$output" != *client* ]]
      run -78 dlock force-release -b "$url" --yes k
      [[ "$output" == *"$what"*"--foreign-data"* ]]
      [ "$(redis_cli one exists k)" = 1 ]
      run -0 dlock force-release -b "$url" --yes --foreign-data k
      [[ "$output" == *"deleted: $what"* ]]
      [ "$(redis_cli one exists k)" = 0 ]
    done
  done <<'DATA'
set k '{"name": "a page"}'|a string of 18 bytes
set k '{"name": "a page"}' px 600000|a string of 18 bytes
set k 17|a number
rpush k a|a list
zadd k 1 a|a zset
hset k name value|a hash
long|a string of 2000000 bytes
DATA
  [ ! -e ran ]
}

# What was read at the start is not the password any more.
# bats test_tags=all
@test "a password file that is written anew: holder and waiter log in with what it says now" {
  script_section
  redis_cli one acl setuser app on '>secret' '~*' '&*' '+@all'
  (umask 077 && echo secret >password)
  use "redis://app@127.0.0.1:$(port_of one)?password-file=$PWD/password"
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((6 * slowness))
  wait_until begun 1
  wait_section b
  redis_cli one acl setuser app resetpass '>another'
  echo another >password
  redis_cli one client kill user app
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}
