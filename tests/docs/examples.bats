# SPDX-License-Identifier: Apache-2.0
# The files in examples/ work: each is run as its owner would run it, with stubs for the commands.
bats_require_minimum_version 1.5.0
load helper

setup() { set_stage; }

teardown() {
  if [ "${holder-}" ]; then let_go; fi
}

# The commands of the crontab, without their five time fields.
cron_command() { grep -E '^[0-9*]' "$root/examples/crontab" | sed -nE "$1"'s/^([^ ]+ +){5}//p'; }

@test "crontab: every job runs its command under its lock" {
  stub "$stage"/bin/{sync-orders,backup,report}
  for line in 1 2 3; do
    sh -c "$(cron_command "$line")"
  done
  [ "$(cat "$calls")" = "sync-orders --incremental under sync-orders
backup --all under storage
report under storage" ]
}

@test "crontab: a job whose predecessor still runs is skipped with status 0 and without a word" {
  stub "$stage/bin/sync-orders"
  hold sync-orders
  run sh -c "$(cron_command 1)"
  [ "$status" = 0 ]
  [ "$output" = "" ]
  [ ! -s "$calls" ]
}

@test "systemd: ExecStart runs the job under its lock" {
  stub "$stage/bin/backup"
  command=$(sed -n 's/^ExecStart=//p' "$root/examples/systemd/nightly.service")
  command=${command//%n/nightly.service}
  command=${command/#\/usr\/bin\//}
  sh -c "${command/\/usr\/local\/bin\//$stage/bin/}"
  [ "$(cat "$calls")" = "backup --all under storage" ]
}

# The lines of script: or after_script: of one job.
ci_lines() { # JOB PART
  awk -v job="$1:" -v part="  $2:" '
    /^[a-z]/ { in_job = $0 == job }
    /^  [a-z]/ { in_part = $0 == part }
    in_job && in_part && /^    - / { print substr($0, 7) }' "$root/examples/gitlab-ci.yml"
}

@test "GitLab CI: the deployment runs under its lock" {
  stub "$stage/deploy.sh"
  CI_JOB_URL=https://ci.example/1 bash -e -c "$(ci_lines deploy script)"
  [ "$(cat "$calls")" = "deploy.sh --all under deploy/prod" ]
}

@test "GitLab CI: the lock of one step is held until another step gives it back" {
  stub "$stage/migrate.sh"
  CI_JOB_URL=https://ci.example/2 bash -e -c "$(ci_lines migrate script)"
  [ "$(cat "$calls")" = "migrate.sh under no lock" ]
  run -75 dlock run -n db/schema -- true
  [[ "$output" == *https://ci.example/2* ]]
  bash -e -c "$(ci_lines migrate after_script)"
  dlock run -n db/schema -- true
  # The job that failed before it had the lock runs this step too.
  bash -e -c "$(ci_lines migrate after_script)"
}

@test "Makefile: make deploy builds, then deploys under the lock" {
  stub "$stage/deploy.sh" "$stage/build.sh" "$stage/slow-test.sh"
  make -f "$root/examples/Makefile" deploy slow-test-7
  [ "$(cat "$calls")" = "build.sh under no lock
deploy.sh under deploy
slow-test.sh 7 under slow-tests" ]
}
