# SPDX-License-Identifier: Apache-2.0
# README's recipes, word for word, on every store: each does what README says, or is refused (78) where README says so.
load helper
load ../support/cli
load ../support/stores

setup() {
  set_world
  need_servers
  readme=$root/README.md calls=$PWD/calls
  export calls
  script recorded <<'SCRIPT'
#!/bin/sh
echo "${0##*/}${1:+ $*} under ${DLOCK_KEY-no lock}" >>"$calls"
SCRIPT
  local name
  for name in sync-orders backup send-newsletter make; do ln -s recorded "$BATS_TEST_TMPDIR/bin/$name"; done
  for name in deploy.sh migrate.sh verify.sh; do ln -s "$BATS_TEST_TMPDIR/bin/recorded" "$name"; done
  # Those who type README's keys on the same servers come one after the other.
  exec {alone}>"${DLOCK_TEST_SERVERS:-$BATS_RUN_TMPDIR}/readme.alone"
  flock "$alone"
}
teardown() { end_world; }

called() { # TEXT: since the last time
  [ "$(tr '\n' ';' <"$calls")" = "$1" ] || { cat "$calls"; return 1; }
  : >"$calls"
}
# README speaks of protocols; of their layouts and strategies the manuals do.
on_all_stores() {
  local DLOCK_TEST_EVERY_STORE=
  on_each_store "$1" redlock tair
}

# What cron would run of the block below a heading that contains TEXT, in which a percent sign is escaped.
crontab_line() { block "$readme" "$1" | sed -En 's/^([0-9*/]+ +)([^ ]+ +){4}//p' | sed 's/\\%/%/g'; }
keys=(sync nightly mail deploy/prod test-db db/schema)

recipes() {
  local job option owner
  : >"$calls"
  for job in "${keys[@]}"; do is_free "$job"; done
  run -0 sh -c "$(crontab_line "A cron job")"
  [ "$output" = "" ]
  called "sync-orders --incremental under sync;"

  job=$(crontab_line "A daily job")
  for _ in 1 2; do # hosts
    run -0 sh -c "$job"
    [ "$output" = "" ]
  done
  called "backup --all under nightly;"
  run -0 dlock release --slot "$(date +%F)" nightly

  announced --permits permits sh -c "$(block "$readme" "At most three")"
  called "${did:+send-newsletter under mail;}"
  if [ "$did" ]; then
    job=$(block "$readme" "At most three")
    for _ in 1 2; do run -0 sh -c "$job"; done
    run -75 sh -c "${job/run/run -n}"
    called "send-newsletter under mail;send-newsletter under mail;"
    run -0 dlock force-release --yes mail
  fi

  job=$(block "$readme" "A deployment")
  run -0 sh -c "$job"
  called "deploy.sh --all under deploy/prod;"
  for option in --newest --replace; do
    announced "$option" sees_waiters sh -c "${job/run /run $option }"
    called "${did:+deploy.sh --all under deploy/prod;}"
  done

  run -0 --separate-stderr sh -c "$(block "$readme" "A freeze" | sed -n 1p)"
  owner=${output%% *}
  run -75 sh -c "${job/--wait 10m/-n}"
  [[ "$output" == *"freeze until Monday"* ]]
  run -0 sh -c "$(block "$readme" "A freeze" | sed -n "2s/OWNER/$owner/p")"

  announced --slots permits sh -c "$(block "$readme" "One of three")"
  called "${did:+make integration-test DB=db1 under test-db;}"

  run -0 sh -ec "$(block "$readme" "Two steps")"
  called "migrate.sh under no lock;verify.sh under no lock;"
  announced --watch-pid watches dlock acquire --watch-pid $$ db/schema
  if [ "$did" ]; then
    run -0 dlock release --owner "${output%% *}" db/schema
    wait_until is_free db/schema
  fi

  start_watched waiter dlock run -q deploy/prod -- sleep 100
  wait_until is_held deploy/prod
  job=$(block "$readme" "An operator")
  run -0 sh -c "$(sed -n 1p <<<"$job")"
  [[ "$output" == *"deploy/prod  held, exclusive"* ]]
  [ "$(sh -c "$(sed -n 2p <<<"$job")")" = "$(uname -n)" ]
  run -0 sh -c "$(sed -n 3p <<<"$job") --yes"
  [ "$(how_ended waiter)" = "exit 79" ]
  for job in "${keys[@]}"; do is_free "$job"; done
}
# announced OPTION ABILITY COMMAND...: 0, and $did, where the store can; else 78, and README says so.
announced() {
  did=
  if can "$2"; then
    run -0 "${@:3}"
    did=yes
    return
  fi
  run -78 "${@:3}"
  echo "README says that ${DLOCK_BACKEND%%:*}:// refuses $1"
  tr '\n' ' ' <"$readme" | grep -qE "Refused \(78\):[^.]*\`$1\`[^;.]*\`${DLOCK_BACKEND%%:*}://\`"
}
@test "README's recipes, word for word, on every store" { on_all_stores recipes; }
