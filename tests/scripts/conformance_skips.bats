# SPDX-License-Identifier: Apache-2.0
# What a backend leaves out of the conformance suite is said, and with CI=true it is on the list or a failure.
load ../support/cli
load ../support/redis

setup() {
  set_world
  suite=$(dirname "$DLOCK")/../tests/dlock_conformance
  list=$root/tests/conformance/skips.txt
  local variable
  for variable in $(grep -ohE 'DLOCK_TEST_[A-Z0-9_]+' "$root"/backends/*/conformance.txt); do export "$variable="; done
  start_redis one
  DLOCK_TEST_REDIS=$(redis_url one)
}
teardown() { end_world; }

# Two cases, of which Redis leaves one out; the list is standard input.
cases_with_list() { # CI
  cat >skips.txt
  DLOCK_TEST_SKIPS=$PWD/skips.txt CI=$1 "$suite" --no-colors=true -tc='stock: take deducts*,an open fence keeps*' >log
}
counts() { # STATUS: what scripts/jobs.bash reads in the log
  logs=$BATS_TEST_TMPDIR bash -c ". '$root/scripts/jobs.bash'; count_part log $1"
}

@test "what is on the tree's list passes with CI=true, is said, and is no skipped test" {
  run -0 cases_with_list true <"$list"
  grep -q '^skipped: an open fence keeps .*: a fence does not stay open: redis' log
  [ "$(counts 0)" = "2 0 0" ]
}

@test "what is not on the list fails with CI=true; without, it is a skipped test" {
  run -1 cases_with_list true <<<'a fence does not stay open: tair'
  grep -q '^skipped, and not on the list: redis: an open fence keeps .*: a fence does not stay open$' log
  [ "$(counts 1)" = "2 1 3" ]
  run -0 cases_with_list false <<<'a fence does not stay open: tair'
  [ "$(counts 0)" = "2 0 3" ]
}

@test "what is on the list and could be done fails with CI=true" {
  printf '%s\n' 'a fence does not stay open: redis; redisson, fair; redisson, fenced' 'a fence does not stay open: local' >both
  run -1 cases_with_list true <both
  grep -qx 'on the list, and not skipped any more: local: a fence does not stay open' log
  run -0 cases_with_list false <both
}

@test "a list that cannot be read is no empty list" {
  CI=false DLOCK_TEST_SKIPS=/nonexistent run -1 "$suite" --no-colors=true -tc='stock: take deducts*'
  [[ "$output" == *"cannot read /nonexistent"* ]]
}
