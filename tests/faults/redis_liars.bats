# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# What listens where a Redis server should (tests/support/lying_redis.py): replies without end, replies to other questions,
# half a lock. No command runs without a lock, dlock says why in bounded time, no program needs more than 64 MiB for it, and
# none is left behind (tests/support/metered.py).
load ../support/cli
load ../support/redis
load ../support/liars

setup() {
  set_world
  liar=$servers/liar
  mkdir -p "$liar"
  it_says silence
}
teardown() { end_world; }

floods=(endless-string endless-array endless-arrays endless-line endless-depth endless-answers big-string big-array
  big-error big-pairs announced-string deeper)

# start_liar [PORT N]: see lying_redis.py.
start_liar() { start_liar_program lying_redis "$@"; }
lies() { "${python[@]}" -c 'import sys; sys.path.insert(0, sys.argv[1]); import lying_redis; print(*lying_redis.LIES)' "$support"; }

# runs_nothing URL LIE...
runs_nothing() {
  local url=$1 lie
  shift
  for lie in "$@"; do
    it_says "$lie"
    metered '69 77 78' dlock run -n --connect-timeout 500ms -b "$url" k -- touch ran
    grep -q '^dlock: ' said
  done
}

@test "redis://: whatever it answers, no command runs without a lock" {
  start_liar
  # shellcheck disable=SC2046
  runs_nothing "$(redis_url liar)" $(lies)
}
@test "redlock://: the same for what floods" {
  start_liar
  local port
  port=$(port_of liar)
  runs_nothing "redlock://127.0.0.1:$port,127.0.0.2:$port,127.0.0.3:$port" "${floods[@]}"
}
@test "redis+cluster://: the same" {
  start_liar
  runs_nothing "redis+cluster://127.0.0.1:$(port_of liar)" "${floods[@]}" moved-here
}
@test "redis+sentinel://: the same" {
  start_liar
  runs_nothing "redis+sentinel://127.0.0.1:$(port_of liar)/main" "${floods[@]}"
}
@test "tair://: the same" {
  start_liar
  runs_nothing "tair://127.0.0.1:$(port_of liar)" "${floods[@]}"
}

@test "commands that supervise nothing: 69 with the reason" {
  start_liar
  use "$(redis_url liar)"
  local lie
  for lie in endless-string endless-array big-error endless-answers nils arrays twice error-escapes error-long; do
    it_says "$lie"
    metered 69 dlock inspect k
    metered 69 dlock inspect
    metered 69 dlock gc
    metered 69 dlock ping
    metered '69 77' dlock doctor
    metered 69 dlock fence k 7
    metered 69 dlock stock show s
    metered 69 dlock stock take s --id r
  done
}

@test "a holder's server begins to lie: the command is ended before its lease is, 79, and nothing is left" {
  start_redis one
  local lie
  for lie in endless-string endless-array big-error endless-answers noise nils silence; do
    rm -f "$liar/port"
    start_liar "$(port_of one)" 1
    it_says "$lie"
    metered 79 dlock run -n --ttl 2s --kill-after 200ms -b "$(redis_url liar)" "k-$lie" -- sleep 30
    grep -q 'LOST k-' said
  done
}

@test "it lies about the release: the command's status and a warning, and nothing is left" {
  start_redis one
  local lie
  for lie in endless-string big-error noise nils; do
    rm -f "$liar/port"
    start_liar "$(port_of one)" 1
    it_says "$lie"
    metered 7 dlock run -n --ttl 2s -b "$(redis_url liar)" "k-$lie" -- sh -c 'exit 7'
    grep -q 'could not be confirmed' said
  done
}
