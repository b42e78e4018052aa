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

@test "a user with the rights of the man page for some keys only: every command works there but doctor and ping, which say why" {
  grant_rights_of_the_man_page '~deploy/*' '~dlock:{deploy/*'
  everything_works_with deploy/x
  run -77 dlock run -n other -- true
  run -77 dlock ping
  run -77 dlock doctor
  [[ "$output" == *"access one of the keys"*"man dlock-redis"* ]]
  redis_cli one acl setuser deploy '~dlock:{doctor}:fence' '~dlock-ping-*' '~dlock:{dlock-ping-*'
  run -0 dlock ping
  run -0 dlock doctor
}

# --- what others have written ----------------------------------------------------------------------------------------

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
