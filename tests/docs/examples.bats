# SPDX-License-Identifier: Apache-2.0
# The files in examples/ work: each is run as its owner would run it, with stubs for the commands.
bats_require_minimum_version 1.5.0
load helper
load ../support/mounts

setup() { set_stage; }

teardown() {
  if [ "${holder-}" ]; then let_go; fi
}

# The commands of the crontab, without their five time fields.
cron_command() { grep -E '^[0-9*]' "$root/examples/crontab" | sed -nE "$1"'{s/^([^ ]+ +){5}//; s/\\%/%/g; p}'; }

@test "crontab: every job runs its command under its lock" {
  recorded "$stage"/bin/{sync-orders,backup,import,report}
  for line in 1 2 3 4 2; do # the second: once a day
    sh -c "$(cron_command "$line")"
  done
  [ "$(cat "$calls")" = "sync-orders --incremental under sync-orders
backup --all under backup
import under catalogue
report under catalogue" ]
}

@test "crontab: a job whose predecessor still runs is skipped with status 0 and without a word" {
  recorded "$stage/bin/sync-orders"
  hold sync-orders
  run sh -c "$(cron_command 1)"
  [ "$status" = 0 ]
  [ "$output" = "" ]
  [ ! -s "$calls" ]
}

@test "systemd: ExecStart runs the job under its lock, once a day" {
  recorded "$stage/bin/backup"
  command=$(sed -n 's/^ExecStart=//; T; s/%n/nightly.service/g; s/%%/%/g; p' "$root/examples/systemd/nightly.service")
  for host in one another; do
    sh -c "${command/\/usr\/local\/bin\//$stage/bin/}"
  done
  [ "$(cat "$calls")" = "backup --all under backup" ]
}

# Not so on the locks of each machine, which is what they use before they name a server.
@test "what runs on several hosts says which server they share" {
  for file in crontab systemd/nightly.service; do
    grep -q '^#.*default-backend in /etc/dlock/config.toml' "$root/examples/$file" || { echo "$file"; return 1; }
  done
  grep -q '^default-backend = ' "$root/examples/dlock.toml"
}

# The lines of script: of one job.
ci_lines() { # JOB PART
  awk -v job="$1:" -v part="  $2:" '
    /^[a-z]/ { in_job = $0 == job }
    /^  [a-z]/ { in_part = $0 == part }
    in_job && in_part && /^    - / { print substr($0, 7) }' "$root/examples/gitlab-ci.yml"
}

@test "GitLab CI: the deployment runs under its lock" {
  recorded "$stage/deploy.sh"
  CI_JOB_URL=https://ci.example/1 bash -e -c "$(ci_lines deploy script)"
  [ "$(cat "$calls")" = "deploy.sh --all under deploy/prod" ]
}

# bats test_tags=all
@test "GitLab CI: the migration runs under its lock, and fails while another one is at work" {
  recorded "$stage/migrate.sh"
  CI_JOB_URL=https://ci.example/2 bash -e -c "$(ci_lines migrate script)"
  [ "$(cat "$calls")" = "migrate.sh under db/schema" ]
  hold --reason https://ci.example/1 db/schema
  local script
  script=$(ci_lines migrate script)
  run -75 bash -e -c "${script/--wait 30m/-n}"
  [[ "$output" == *https://ci.example/1* ]]
}

@test "Makefile: make deploy builds, then deploys under the lock" {
  recorded "$stage/deploy.sh" "$stage/build.sh" "$stage/slow-test.sh"
  make -f "$root/examples/Makefile" deploy slow-test-7
  [ "$(cat "$calls")" = "build.sh under no lock
deploy.sh under deploy
slow-test.sh 7 under slow-tests" ]
}

# What Python makes of a YAML file: `d` is the document.
in_yaml() { # FILE EXPRESSION
  /usr/bin/python3 -c 'import sys, shlex, yaml; d = yaml.safe_load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$root/examples/$1" "$2"
}

@test "each document has the parts that its reader asks for, of the right kind" {
  run -0 /usr/bin/python3 "$BATS_TEST_DIRNAME/document_shape.py" "$root/examples"
}

@test "a document without a part, or with one of another kind, is noticed" {
  cp -r "$root/examples" "$stage/examples"
  broken() { # FILE SED-SCRIPT WHAT
    sed -i "$2" "$stage/examples/$1"
    run -1 /usr/bin/python3 "$BATS_TEST_DIRNAME/document_shape.py" "$stage/examples"
    [[ "$output" == *"$1: $3"* ]] || { echo "$output"; return 1; }
    cp "$root/examples/$1" "$stage/examples/$1"
  }
  broken kubernetes-cronjob.yml 's/-E, "0"/-E, 0/' spec.jobTemplate.spec.template.spec.containers.0.command
  broken kubernetes-cronjob.yml '/restartPolicy/d' spec.jobTemplate.spec.template.spec.restartPolicy
  broken github-actions.yml 's/- uses: .*/- name: x/' jobs.deploy.steps
  broken github-actions.yml '/container:/d' jobs.deploy.container
  broken ansible.yml '/hosts:/d' 0.hosts
  broken Jenkinsfile 's/agent any//' agent
  broken Jenkinsfile '$d' braces
  broken Jenkinsfile 's/branch .main./branches/' steps
  broken gitlab-ci.yml 's/- if:/- unless:/' deploy.rules
  broken Dockerfile 's/^FROM/FORM/' FORM
}

# bats test_tags=all
@test "GitHub Actions: the steps deploy under their locks" {
  recorded "$stage/deploy.sh"
  GITHUB_RUN_ID=7 bash -e -c "$(in_yaml github-actions.yml 'd["jobs"]["deploy"]["steps"][-1]["run"]')"
  [ "$(cat "$calls")" = "deploy.sh --all under deploy/prod" ]
  GITHUB_RUN_ID=8 GITHUB_REF_NAME=fix bash -e -c "$(in_yaml github-actions.yml 'd["jobs"]["preview"]["steps"][-1]["run"]')"
  [ "$(tail -n 1 "$calls")" = "deploy.sh --all under preview/fix" ]
  [ "$(in_yaml github-actions.yml 'sorted(d["jobs"]["deploy"]["env"])')" = "['DLOCK_BACKEND', 'DLOCK_PASSWORD']" ]
}

@test "GitHub Actions: each job installs the packages in Debian's container, which is root's and has no lists" {
  printf '#!/bin/sh\necho "apt-get $*" >>"$calls"\n' >"$stage/bin/apt-get"
  chmod +x "$stage/bin/apt-get"
  ln -s /bin/false "$stage/bin/sudo"
  mkdir "$stage/packages"
  touch "$stage"/packages/dlock{,-redis}_1_amd64.deb
  for job in deploy preview; do
    : >"$calls"
    sh -e -c "$(in_yaml github-actions.yml "d['jobs']['$job']['steps'][1]['run']")"
    [ "$(cat "$calls")" = "apt-get update
apt-get install -y --no-install-recommends ca-certificates ./packages/dlock_1_amd64.deb ./packages/dlock-redis_1_amd64.deb" ]
  done
}

@test "Kubernetes: the container runs its job under the lock, and one that finds it taken ends with 0" {
  recorded "$stage/bin/sync-orders"
  container='d["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]'
  [ "$(in_yaml kubernetes-cronjob.yml '(d["apiVersion"], d["kind"])')" = "('batch/v1', 'CronJob')" ]
  command=$(in_yaml kubernetes-cronjob.yml "shlex.join(${container}['command'])")
  sh -c "$command"
  [ "$(cat "$calls")" = "sync-orders --incremental under sync-orders" ]
  hold sync-orders
  run -0 sh -c "$command"
  [ -z "$output" ]
}

@test "Ansible: the task migrates under the lock" {
  recorded "$stage/migrate.sh"
  task='d[0]["tasks"][0]'
  command=$(in_yaml ansible.yml "shlex.join(${task}['ansible.builtin.command']['argv'])")
  sh -c "$command"
  [ "$(cat "$calls")" = "migrate.sh --all under db/schema" ]
  [ "$(in_yaml ansible.yml "${task}['failed_when']")" = "migration.rc != 0" ]
}

# bats test_tags=all
@test "Jenkins: the steps deploy under their locks" {
  recorded "$stage/deploy.sh"
  BUILD_TAG=shop-7 BRANCH_NAME=fix sh -c "$(sed -nE "s/^ *sh '(.*)'$/\1/p" "$root/examples/Jenkinsfile")"
  [ "$(cat "$calls")" = $'deploy.sh --all under deploy/prod\ndeploy.sh --all under preview/fix' ]
}

@test "in each CI system only the main branch deploys to production, and each other one has a preview" {
  conditions() { # FILE EXPRESSION: of the jobs by what they run, sorted
    in_yaml "$1" "'\\n'.join(sorted({('preview ' if 'preview/' in str(one) else 'prod ') + $2 for one in $3}))"
  }
  [ "$(conditions gitlab-ci.yml 'one["rules"][0]["if"]' 'd.values()')" = 'preview $CI_COMMIT_BRANCH && $CI_COMMIT_BRANCH != $CI_DEFAULT_BRANCH
prod $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH' ]
  [ "$(conditions github-actions.yml 'one["if"]' 'd["jobs"].values()')" = "preview github.ref_name != 'main'
prod github.ref_name == 'main'" ]
  [ "$(sed -nE '/^    stage/{N; s/\n */ /; s/^ *//; p}' "$root/examples/Jenkinsfile")" = "stage('deploy') { when { branch 'main' }
stage('preview') { when { not { branch 'main' } }" ]
}

@test "Docker: dlock as process 1 runs the job, passes TERM on, reaps orphans and ends as the job did" {
  line() { sed -n "s/^$1 //p" "$root/examples/Dockerfile" | jq -r '@sh'; }
  recorded "$stage/bin/sync-orders"
  mounts_apart || skip "no right to mount"
  apart+=(--pid --fork --kill-child)
  in_container() {
    "${apart[@]}" sh -c "mount -t proc none /proc && exec $(line ENTRYPOINT) \"\$@\"" sh "$@"
  }
  eval "in_container $(line CMD)"
  [ "$(cat "$calls")" = "sync-orders --incremental under sync-orders" ]
  run -7 in_container sh -c '(sleep 0.1 &) ; [ "$PPID" = 1 ] && exit 7'
  run -0 dlock inspect sync-orders
  [[ $output == *free* ]]
  in_container sh -c 'trap "echo told >told; exit 3" TERM; echo up >up; while :; do sleep 0.1; done' 3>&- &
  outer=$!
  until [ -s up ]; do sleep 0.1; done
  first=$(pgrep -P "$outer" -x dlock || pgrep -P "$(pgrep -P "$outer")" -x dlock)
  kill "$first"
  wait "$outer" && status=0 || status=$?
  [ "$status" = 3 ]
  [ "$(cat told)" = told ]
}

@test "dlock.toml is a configuration without a mistake" {
  run -0 dlock config check --strict --config "$root/examples/dlock.toml"
  run -0 dlock config show --config "$root/examples/dlock.toml" --json deploy/shop
  [[ "$output" == *'"1h"'* ]]
}

@test "systemd: the metrics of the locks are a file that node_exporter takes, and the alert rules ask for what is in it" {
  hold catalogue
  export TEXTFILES=$stage DLOCK_EVENTS=$stage/events
  dlock run nightly -- true
  sh -c "$(sed -nE "s/^ExecStart=\/bin\/sh -c '(.*)'$/\1/p" "$root/examples/systemd/dlock-metrics.service")"
  grep -q '^dlock_holders{.*key="catalogue"} 1$' "$stage/dlock.prom"
  [ ! -e "$stage/dlock.prom.new" ]
  for metric in $(grep -v 'summary:\|description:' "$root/examples/prometheus/dlock.rules.yml" | grep -oE 'dlock_[a-z]+_[a-z_]+'); do
    grep -q "^$metric{" "$stage/dlock.prom" || { echo "nothing is called $metric"; return 1; }
  done
}

@test "Prometheus: a job that one of several machines has done is done" {
  said=$(in_yaml prometheus/dlock.rules.yml '[one["expr"] for one in d["groups"][0]["rules"] if one["alert"] == "JobNotDone"][0]')
  [[ $said == *'time() - max by (key) (dlock_last_success_timestamp_seconds{key="backup"}) > '* ]]
}
