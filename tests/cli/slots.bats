# SPDX-License-Identifier: Apache-2.0
# DLOCK_SLOT: which of N each holder of a permit is. What a store with permits does with them is asked by tests/conformance.
load ../support/cli
load ../support/stores

setup() {
  set_world
  key=slots-$$-$BATS_TEST_NUMBER # several runs may share the servers
}
teardown() { end_world; }

# A job that says its slot, and ends when it may: job NAME OPTION... (its key is $key)
job() {
  start dlock run "${@:2}" --report "$1.json" "$key" -- sh -c 'echo "$DLOCK_SLOT" >"$1.slot"; until [ -e "$1.end" ]; do sleep 0.1; done' - "$1"
}
works() { filled "$1.slot"; }
slot() { cat "$1.slot"; }
has_ended() { filled "$1.json"; }
seen_slots() { dlock inspect --json "$key" | jq -r '[.holders[].slot] | sort | join(" ")'; }
sees() { [ "$(seen_slots)" = "$1" ]; }
nobody_holds() { [ "$(count holders "$key")" = 0 ]; }

each_job_has_its_number() {
  can permits || return 0
  rm -f ./*.slot ./*.end ./*.json
  job a --permits 3
  wait_until works a
  job b --permits 3
  wait_until works b
  job c --permits 3
  wait_until works c
  [ "$(slot a) $(slot b) $(slot c)" = "0 1 2" ]
  sees "0 1 2"
  dlock inspect "$key" | grep -q '  slot 1  token '
  run -75 dlock run -q -n --permits 3 "$key" -- touch ran
  job d --permits 3
  touch b.end
  wait_until works d
  [ "$(slot d)" = 1 ]
  wait_until has_ended b
  [ "$(jq -r .slot b.json)" = 1 ]
  touch a.end c.end d.end
  wait_until nobody_holds
  [ ! -e ran ]
}
@test "with --permits N each command finds a number from 0 to N-1 that no other one has, the lowest free" {
  need_servers
  on_two_stores each_job_has_its_number
}

each_job_has_its_database() {
  can permits || return 0
  rm -f ./*.slot ./*.end ./*.json
  job a --slots db1,db2
  wait_until works a
  job b --slots db1,db2
  wait_until works b
  [ "$(slot a) $(slot b)" = "db1 db2" ]
  sees "db1 db2"
  run -75 dlock run -q -n --slots db1,db2 "$key" -- true
  run -78 dlock run -n --slots db1,db2,db3 "$key" -- true
  touch a.end
  run -0 dlock run -q --slots db1,db2 "$key" -- sh -c 'echo "$DLOCK_SLOT"; dlock run --slots db1,db2 "$DLOCK_KEY" -- printenv DLOCK_SLOT'
  [ "$output" = $'db1\ndb1' ]
  touch b.end
  wait_until nobody_holds
}
# bats test_tags=all
@test "with --slots each command finds one of the names, in an inner dlock too" {
  need_servers
  on_two_stores each_job_has_its_database
}

a_lease_has_a_slot() {
  can permits || return 0
  local grant
  eval "$(dlock acquire --ttl 30s --slots db1,db2 --shell "$key")"
  [ "$DLOCK_SLOT" = db1 ]
  grant=$DLOCK_OWNER
  unset DLOCK_SLOT DLOCK_HELD
  run -0 dlock renew --ttl 30s --owner "$grant" "$key"
  [ "$(dlock acquire --ttl 30s --slots db1,db2 --json "$key" | tee second.json | jq -r .slot)" = db2 ]
  sees "db1 db2"
  run -0 dlock release --owner "$grant" "$key"
  sees db2
  [ "$(dlock run --slots db1,db2 "$key" -- printenv DLOCK_SLOT)" = db1 ]
  run -0 dlock release --owner "$(jq -r .owner second.json)" "$key"
}
@test "acquire tells a script the slot; a renewal keeps it, its release frees it" {
  need_servers
  on_two_stores a_lease_has_a_slot
}

@test "what says two things about slots is wrong usage" {
  for words in "--slots a,b --permits 3" "--slots a,,b" "--slots a,a" "--slots a,b --shared" "--slots a -x"; do
    # shellcheck disable=SC2086  # words
    run -64 dlock run $words "$key" -- touch ran
  done
  run -64 dlock run --slots '' "$key" -- touch ran
  [ ! -e ran ]
}

@test "a store without permits, and a recipe without them, say so: 78" {
  run -78 dlock run --slots a,b "$PWD/file" -- touch ran
  if [ "${DLOCK_TEST_REDLOCK-}" ]; then run -78 dlock run -b "$DLOCK_TEST_REDLOCK" --slots a,b "$key" -- touch ran; fi
  if [ "${DLOCK_TEST_ZK-}" ]; then
    for recipe in rw kazoo; do
      run -78 dlock run -b "$DLOCK_TEST_ZK?recipe=$recipe" --slots a,b "$key" -- touch ran
      [[ "$output" == *"recipe=$recipe has no permits locks"* ]]
    done
  fi
  [ ! -e ran ]
}

@test "-v says the slot that was granted" {
  run -0 dlock run -v --slots db1,db2 "$key" -- true
  [[ "$output" == *"granted"*", slot db1"* ]]
}
