# SPDX-License-Identifier: Apache-2.0
# Degradation is a stated choice: --fallback, --if-unavailable and --connect-timeout with real servers that are dead, hung,
# loading, full, or fine and busy. What was chosen is said on stderr, in --report and in DLOCK_STORE.
load ../support/cli
load ../support/redis

setup() {
  set_world
  start_redis one
  start_redis spare
  use "$(redis_url one)"
}
teardown() { end_world; }

use() { export DLOCK_BACKEND=$1; } # URL
script_show() {
  script show <<'SCRIPT'
#!/bin/sh
echo "${DLOCK_STORE-none} ${DLOCK_TOKEN-none}"
SCRIPT
}

# --- --fallback ------------------------------------------------------------------------------------------------------

@test "--fallback: the server is dead, a second one grants; said on stderr, in the report, in DLOCK_STORE" {
  script_show
  kill_redis one
  run -0 --separate-stderr dlock run -n --fallback "$(redis_url spare)" --report report k -- show
  [[ "$output" =~ ^"$(redis_url spare)"\ [0-9]+$ ]]
  [[ "$stderr" == *"$(port_of one)"*refused*"falling back to $(redis_url spare)"* ]]
  jq -e --arg store "$(redis_url spare)" '.outcome == "ran" and .store == $store and .token > 0' report
}

# bats test_tags=all
@test "--fallback: the server is hung; the second one is asked after --connect-timeout, and the command runs under its lock" {
  kill -STOP "$(pid_of_redis one)"
  local begin
  begin=$(now_ms)
  start_watched a dlock run --ttl 2s --connect-timeout 500ms --fallback "$(redis_url spare)" k -- sleep 3
  wait_until redis_says spare 1 exists k
  [ $(($(now_ms) - begin)) -ge 500 ]
  run -75 dlock run -q -n -b "$(redis_url spare)" k -- true
  [ "$(how_ended a)" = "exit 0" ] # 3 s under a lease of 2 s: renewed where it was granted
  run -0 dlock run -n -b "$(redis_url spare)" k -- true
}

# bats test_tags=all
@test "--fallback: one after the other, down to local" {
  script_show
  kill_redis one
  kill_redis spare
  run -0 --separate-stderr dlock run -n --fallback "$(redis_url spare)" --fallback "local:$locks" k -- show
  [[ "$output" == "local:$locks "* ]]
  [[ "$stderr" == *"falling back to $(redis_url spare)"*"falling back to local:$locks"* ]]
}

# bats test_tags=all
@test "--fallback: also from a server that is loading its data, and from one whose memory is full" {
  redis_cli one config set maxmemory 1
  run -0 --separate-stderr dlock run -n --fallback "$(redis_url spare)" k -- true
  [[ "$stderr" == *memory*"falling back"* ]]
  start_loading
  run -0 --separate-stderr dlock run -n --connect-timeout 500ms -b "$(redis_url slow)" --fallback "$(redis_url spare)" k -- true
  [[ "$stderr" == *LOADING*"falling back"* ]]
}

# Its disk refuses what it saves.
saves_nothing() { # NAME
  mkdir "$servers/$1/dump.rdb"
  redis_cli "$1" config set save '3600 1'
  redis_cli "$1" set other v
  redis_cli "$1" bgsave
  wait_until redis_line "$1" rdb_last_bgsave_status:err info persistence
}
takes_no_changes() { # WORDS: how that is said
  run -69 dlock run -n k -- touch ran
  [[ "$output" == *"$1 and takes no changes"* ]]
  run -69 dlock run --connect-timeout 300ms k -- touch ran
  [ ! -e ran ]
  run -0 dlock run -n --fallback "$(redis_url spare)" k -- true
  run -69 dlock doctor
  [[ "$output" == *"$1"* ]]
}
@test "a server that cannot save its data, or has too few replicas: 69 with that reason; --fallback is for it; a holder is told" {
  start_watched a dlock run --ttl 2s held -- sleep 30 2>said
  wait_until redis_says one 1 exists held
  saves_nothing one
  takes_no_changes 'cannot save its data'
  [ "$(how_ended a)" = "exit 79" ]
  grep -q 'LOST held: no renewal for .* cannot save its data' said
  redis_cli one config set save ''
  run -0 dlock run -n k -- true
  run -0 dlock run --ttl "${slowness}s" brief -- redis-cli -p "$(port_of one)" config set min-replicas-to-write 1
  echo "$output"
  [[ "$output" == *"the release of brief could not be confirmed: "*"has too few replicas"*"; the lease "* ]]
  takes_no_changes 'too few replicas'
}

@test "--fallback is never used because a lock is busy, nor because we are refused" {
  redis_cli one set k theirs px 60000
  run -75 dlock run -n --fallback "$(redis_url spare)" k -- touch ran
  run -75 dlock run -w 0.3 --fallback "$(redis_url spare)" --if-unavailable run k -- touch ran
  redis_cli one acl setuser default resetkeys
  run -77 dlock run -n --fallback "$(redis_url spare)" --if-unavailable run k -- touch ran
  [ ! -e ran ]
  [ "$(redis_cli spare dbsize)" = 0 ]
}

@test "--fallback is for taking the lock: a server that dies under the command is a loss, 79" {
  start_watched a dlock run --ttl 2s --fallback "$(redis_url spare)" k -- sleep 30
  wait_until redis_says one 1 exists k
  kill_redis one
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(redis_cli spare dbsize)" = 0 ]
}

# bats test_tags=all
@test "--fallback: the server dies while we wait in its queue; the wait goes on at the second one" {
  script show_where <<'SCRIPT'
#!/bin/sh
echo "$DLOCK_STORE" >where
SCRIPT
  hold_lock k
  start_watched a dlock run -q --connect-timeout 500ms --fallback "$(redis_url spare)" k -- show_where
  wait_until has 1 waiters k
  kill_redis one
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(cat where)" = "$(redis_url spare)" ]
}

# bats test_tags=all
@test "hold, acquire and wait fall back too" {
  kill_redis one
  export DLOCK_FALLBACK
  DLOCK_FALLBACK=$(redis_url spare)
  hold_lock k
  [ "$(redis_cli spare exists k)" = 1 ]
  let_go
  local owner
  read -r owner _ < <(dlock acquire --ttl 20s k 2>said)
  [ "$(redis_cli spare get k)" = "$owner" ]
  grep -q "falling back to $DLOCK_FALLBACK" said
  run -75 dlock wait -n k
  run -0 dlock release --owner "$owner" -b "$DLOCK_FALLBACK" k
  run -0 dlock wait -n k
}

# The same environment is all that they know: no --shell, no -b.
lease_on_the_fallback() {
  local owner token
  kill_redis one
  read -r owner token < <(dlock acquire -q --connect-timeout 500ms --ttl 100s k)
  run -0 dlock renew --ttl 200s --owner "$owner" k
  [ "$output" = "" ]
  run -0 dlock check k "$token"
  run -69 dlock check k 1 # it may be known where nobody answers
  [[ "$output" == *"cannot reach"* ]]
  restart_redis one
  run -0 dlock check k "$token"
  run -0 --separate-stderr dlock renew --json --ttl 200s --owner "$owner" k
  jq -e --arg store "$DLOCK_FALLBACK" '.store == $store and .ttl_ms == 200000' <<<"$output"
  run -79 dlock check k 1
  run -0 --separate-stderr dlock release --if-held --json --owner "$owner" k
  jq -e '.released' <<<"$output"
  run -0 dlock wait -n -b "$DLOCK_FALLBACK" k
  run -79 dlock release --owner "$owner" k
  run -0 --separate-stderr dlock release --if-held --json --owner "$owner" k
  jq -e '.released == false' <<<"$output"
}

@test "renew, check and release find the lease that acquire took from a fallback in the environment" {
  export DLOCK_FALLBACK
  DLOCK_FALLBACK=$(redis_url spare)
  lease_on_the_fallback
  DLOCK_FALLBACK=local:$PWD/locks
  lease_on_the_fallback
}

# bats test_tags=all
@test "--fallback by environment and by configuration: flag before variable before file" {
  script_show
  kill_redis one
  cat >config.toml <<TOML
default-backend = "main"
[backend.main]
url = "$(redis_url one)"
fallback = ["spare"]
connect-timeout = "300ms"
[backend.spare]
url = "$(redis_url spare)"
TOML
  unset DLOCK_BACKEND
  export DLOCK_CONFIG=$PWD/config.toml
  run -0 --separate-stderr dlock run -n k -- show
  [[ "$output" == "$(redis_url spare) "* ]]
  DLOCK_FALLBACK="local:$locks" run -0 --separate-stderr dlock run -n k -- show
  [[ "$output" == "local:$locks "* ]]
  DLOCK_FALLBACK="local:$locks" run -0 --separate-stderr dlock run -n --fallback spare k -- show
  [[ "$output" == "$(redis_url spare) "* ]]
}

# --- --if-unavailable ------------------------------------------------------------------------------------------------

@test "--if-unavailable=run: runs without the lock; said on stderr and in the report, and the command sees no token" {
  script_show
  kill_redis one
  run -0 --separate-stderr dlock run -n --if-unavailable=run --report report k -- show
  [ "$output" = "none none" ]
  [[ "$stderr" == *"$(port_of one)"*"WITHOUT the lock"* ]]
  jq -e '.outcome == "ran" and .exit_code == 0 and .store == null and .token == null and .owner == null and .held_ms == null' report
  run -7 dlock run -n --if-unavailable=run k -- sh -c 'exit 7'
}

# bats test_tags=all
@test "--if-unavailable=run comes after the last fallback, and after --connect-timeout" {
  script_show
  kill -STOP "$(pid_of_redis one)" "$(pid_of_redis spare)"
  local begin
  begin=$(now_ms)
  run -0 --separate-stderr dlock run --connect-timeout 400ms --fallback "$(redis_url spare)" --if-unavailable=run k -- show
  [ $(($(now_ms) - begin)) -ge 800 ]
  [ "$output" = "none none" ]
}

# bats test_tags=all
@test "--if-unavailable by configuration; the flag wins" {
  kill_redis one
  cat >config.toml <<TOML
[defaults]
if-unavailable = "run"
TOML
  export DLOCK_CONFIG=$PWD/config.toml
  run -0 dlock run -n k -- touch ran
  [ -e ran ]
  run -69 dlock run -n --if-unavailable fail k -- touch again
  [ ! -e again ]
}

# bats test_tags=all
@test "without a choice the command does not run: 69, in the report too" {
  kill_redis one
  run -69 dlock run -n --report report k -- touch ran
  [[ "$output" == *"cannot reach 127.0.0.1:$(port_of one)"*refused* ]]
  [ ! -e ran ]
  jq -e '.outcome == "unavailable" and .exit_code == 69 and .store == null and .held_ms == null' report
}

# --- --connect-timeout -----------------------------------------------------------------------------------------------

# Runs the words, which must end after MS at the least and not long after.
takes() { # MS WORD...
  local begin took
  begin=$(now_ms)
  "${@:2}"
  took=$(($(now_ms) - begin))
  echo "took $took ms" >&2
  [ "$took" -ge "$1" ]
  [ "$took" -le $(($1 + 2500)) ]
}

@test "--connect-timeout: that long a server that refuses, that hangs, or that is a black hole is asked, and no longer" {
  start_proxy spare
  network hold
  kill_redis one
  takes 700 run -69 dlock run --connect-timeout 700ms k -- true
  takes 700 run -69 dlock run --connect-timeout 700ms -b "$(redis_url proxy)" k -- true
  kill -STOP "$(pid_of_redis spare)"
  takes 700 run -69 dlock run --connect-timeout 700ms -b "$(redis_url spare)" k -- true
}

# bats test_tags=all
@test "--connect-timeout: a server that comes back in time is used" {
  kill_redis one
  start_watched a dlock run -q --connect-timeout 15s k -- true
  sleep 0.3
  restart_redis one
  [ "$(how_ended a)" = "exit 0" ]
}

# bats test_tags=all
@test "-w bounds the whole: neither a dead server nor a busy lock is waited for any longer" {
  kill -STOP "$(pid_of_redis one)"
  takes 400 run -69 dlock run -w 400ms --connect-timeout 300ms k -- true
  kill -CONT "$(pid_of_redis one)"
  redis_cli one set k theirs px 60000
  takes 400 run -75 dlock run -w 400ms --connect-timeout 5s k -- true
}

# --- a server that loads ---------------------------------------------------------------------------------------------

# A server "slow" that takes seconds to read its data.
start_loading() {
  start_redis slow
  seq 20000 | awk '{ print "SET other:" $1 " v" }' | redis_cli slow --pipe >&2
  redis_cli slow save
  kill_redis slow
  mapfile -d '' options <"$servers/slow/options"
  printf '%s\0' "${options[@]}" --key-load-delay 400 --loading-process-events-interval-bytes 1024 >"$servers/slow/options"
  launch redis-server slow 'Server initialized'
  wait_until redis_line slow loading:1 info persistence
}

# bats test_tags=all
@test "a server that loads its data is waited for within --connect-timeout, and then asked once" {
  start_loading
  local begin
  begin=$(now_ms)
  run -69 dlock run -n --connect-timeout 300ms -b "$(redis_url slow)" k -- touch ran
  (($(now_ms) - begin < 300 + 900 * slowness)) # not a second more, to give back what nobody has
  [[ "$output" == *LOADING* ]]
  [ ! -e ran ]
  run -69 dlock doctor -b "$(redis_url slow)"
  [[ "$output" == *"is not ready: LOADING"* && "$output" != *grant* ]]
  run -0 dlock run --connect-timeout 60s -b "$(redis_url slow)" k -- true
}

# bats test_tags=all
@test "a server that dies under a holder and loads its data when it is back: the lease goes on" {
  start_redis durable --appendonly yes --appendfsync always
  seq 3000 | awk '{ print "SET other:" $1 " v" }' | redis_cli durable --pipe
  use "$(redis_url durable)"
  start_watched a dlock run --ttl $((20 * slowness))s k -- sh -c 'while [ ! -e end ]; do sleep 0.1; done'
  wait_until redis_says durable 1 exists k
  redis_cli durable bgrewriteaof
  wait_until redis_line durable aof_rewrite_in_progress:0 info persistence
  kill_redis durable
  mapfile -d '' options <"$servers/durable/options"
  printf '%s\0' "${options[@]}" --key-load-delay 500 --loading-process-events-interval-bytes 1024 >"$servers/durable/options"
  launch redis-server durable 'Server initialized'
  wait_until redis_line durable loading:1 info persistence
  wait_until redis_line durable loading:0 info persistence
  wait_until renewed
  touch end
  [ "$(how_ended a)" = "exit 0" ]
}
renewed() { [ "$(redis_cli durable pttl k)" -gt $((20000 * slowness - 1000)) ]; }
