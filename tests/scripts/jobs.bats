# SPDX-License-Identifier: Apache-2.0
# The runner of scripts/check counts what its jobs say, and cannot be green when something failed, was skipped in CI or
# never ran.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  log=$BATS_TEST_TMPDIR/log
}

# The counts of a log, by the function that reads this KIND of log.
counted() { # KIND STATUS < LOG
  cat >"$log"
  logs=$BATS_TEST_TMPDIR bash -c ". '$root/scripts/jobs.bash'; count_$1 '$log' $2"
}

# Runs a script with the runner in it, its logs in a folder of the test's own; prints the sum behind the lines of the jobs.
jobs_run() { # SCRIPT
  mkdir -p "$BATS_TEST_TMPDIR/logs"
  logs=$BATS_TEST_TMPDIR/logs bash -c "set -euo pipefail; . '$root/scripts/jobs.bash'
    $1
    run_jobs 2
    retry_jobs
    sum_jobs
    echo \"\$passed passed, \$failed failed, \$skipped skipped, \$retried retried\""
}

@test "a command that fails in the middle of a job fails the job, whatever its kind and whatever follows" {
  local kind summary
  for kind in build program doctest bats; do
    case $kind in
      doctest) summary='[doctest] test cases: 1 | 1 passed | 0 failed | 0 skipped' ;;
      bats) summary=$'1..1\nok 1 a' ;;
      *) summary=fine ;;
    esac
    run -0 jobs_run "add_job it $kind '' 'echo \"$summary\"; false; echo done'"
    echo "$kind: $output"
    [[ "${lines[-1]}" =~ ^[01]\ passed,\ 1\ failed ]]
    ! grep -qx "done" "$BATS_TEST_TMPDIR/logs/it.log"
    run -0 jobs_run "in_the_middle() { false; echo done; }; add_job it $kind '' 'echo \"$summary\"; in_the_middle; true'"
    [[ "${lines[-1]}" =~ ^[01]\ passed,\ 1\ failed ]]
    run -0 jobs_run "add_job it $kind '' 'echo \"$summary\"; true; true'"
    [[ "${lines[-1]}" =~ ^[01]\ passed,\ 0\ failed ]]
  done
}

@test "a failing part of a pipe and an unset variable fail the job as well" {
  run -0 jobs_run "add_job pipe build '' 'false | true'; add_job unset build '' 'echo \$nothing_of_that_name; true'"
  [[ "${lines[-1]}" == "0 passed, 2 failed, 0 skipped, 0 retried" ]]
}

@test "what needs a job that failed does not run, and is a failure" {
  run -0 jobs_run "add_job first build '' false; add_job second program first 'touch $BATS_TEST_TMPDIR/ran'; add_job third program '' true"
  [[ "${lines[-1]}" == "1 passed, 2 failed, 0 skipped, 0 retried" ]]
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
  grep -q 'not run, because first failed' "$BATS_TEST_TMPDIR/logs/second.log"
}

@test "what several jobs need that did not run is said once, and each of them is a failure" {
  run -0 jobs_run "add_job servers program '' 'echo no table; false'; add_job build build '' true
    for name in one two; do add_job \$name bats 'build servers' 'touch $BATS_TEST_TMPDIR/ran'; done
    add_job three program build 'true'"
  [[ "${lines[-1]}" == "1 passed, 3 failed, 0 skipped, 0 retried" ]]
  [ "$(grep -c 'no table' <<<"$output")" = 1 ]
  [ "$(grep -c 'not run' <<<"$output")" = 1 ]
  [[ "$output" == *"FAIL  not run, because servers failed: one two"* ]]
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "whatever needs several jobs waits for all of them" {
  run -0 jobs_run "add_job slow program '' 'sleep 0.3; touch $BATS_TEST_TMPDIR/slow'; add_job fast program '' true
    add_job both program 'fast slow' 'test -e $BATS_TEST_TMPDIR/slow'"
  [[ "${lines[-1]}" == "3 passed, 0 failed, 0 skipped, 0 retried" ]]
}

@test "more jobs run side by side while no build does" {
  # Each of three says that it runs, and waits for the others: with two lanes the last one never comes.
  local beside='three() { touch "$logs/$1"; for _ in {1..40}; do
      [ ! -e "$logs/one" ] || [ ! -e "$logs/two" ] || [ ! -e "$logs/three" ] || return 0; sleep 0.05; done; false; }
    for name in one two three; do add_job $name program "" "three $name"; done'
  run -0 jobs_run "$beside; run_jobs 2 3"
  [[ "${lines[-1]}" == "3 passed, 0 failed, 0 skipped, 0 retried" ]]
  rm -r "$BATS_TEST_TMPDIR/logs"
  run -0 jobs_run "add_job compile build '' 'sleep 3'; $beside; run_jobs 2 3"
  [[ "${lines[-1]}" != *" 0 failed,"* ]]
}

@test "every file of tests that starts a server, or is told of one, needs those of the check" {
  local needs file
  needs=$(sed -n '/^needs_of() {/,/^}/p' "$root/scripts/check")
  for file in faults/mysql interop/redis_py cli/mysql; do
    run -0 bash -c "$needs; needs_of ${file%/*} '$root/tests/$file.bats'"
    [ "$output" = servers ]
  done
  for file in faults/local cli/commands_look package/package scripts/conformance_skips; do
    run -0 bash -c "$needs; needs_of ${file%/*} '$root/tests/$file.bats'"
    [ "$output" = "" ]
  done
}

@test "what needs a job waits for its end" {
  run -0 jobs_run "add_job first build '' 'sleep 0.3; touch $BATS_TEST_TMPDIR/built'; add_job second program first 'test -e $BATS_TEST_TMPDIR/built'"
  [[ "${lines[-1]}" == "1 passed, 0 failed, 0 skipped, 0 retried" ]]
}

# A bats job with so many tests that fail the first COUNT times.
failing_at_first() { # COUNT TESTS
  cat <<JOB
faults() {
  local i word='not ok'
  echo x >>$BATS_TEST_TMPDIR/tries
  [ "\$(wc -l <$BATS_TEST_TMPDIR/tries)" -le $1 ] || word=ok
  echo "1..$2"
  for ((i = 1; i <= $2; i++)); do echo "\$word \$i a"; done
  [ "\$word" = ok ]
}
add_job faults/it bats '' faults
JOB
}

@test "a test that fails beside others and passes alone is passed, and said to be retried" {
  run -0 jobs_run "$(failing_at_first 1 2)"
  echo "$output"
  [[ "$output" == *"retried: faults/it: 2 failed beside others and passed alone"* ]]
  [[ "${lines[-1]}" == "2 passed, 0 failed, 0 skipped, 2 retried" ]]
}

@test "a test that fails alone as well has failed" {
  run -0 jobs_run "$(failing_at_first 9 1)"
  [[ "${lines[-1]}" == "0 passed, 1 failed, 0 skipped, 0 retried" ]]
  [ "$(wc -l <"$BATS_TEST_TMPDIR/tries")" = 2 ]
}

@test "more than three failures are not tried again" {
  run -0 jobs_run "$(failing_at_first 1 4)"
  [[ "${lines[-1]}" == "0 passed, 4 failed, 0 skipped, 0 retried" ]]
}

@test "what a sanitizer found, a stress test and a program are not tried again" {
  run -0 jobs_run "add_job asan/it part '' 'echo \"ERROR: AddressSanitizer: heap-use-after-free\"; false'
    add_job stress/it bats '' 'printf \"1..1\\nnot ok 1 a\\n\"; false'
    add_job it program '' false"
  [[ "$output" != *"once more"* ]]
  [[ "${lines[-1]}" == "0 passed, 3 failed, 0 skipped, 0 retried" ]]
}

# bats test_tags=all
@test "a job that does not end is ended, has failed, shows what it ran, and is not tried again" {
  local kind
  for kind in build program part bats; do
    run -0 jobs_run "job_limit=0; add_job it $kind '' 'echo first; sleep 1000; echo done'"
    echo "$kind: $output"
    [[ "$output" == *"did not end within 0 s"*" sleep 1000"* ]]
    [[ "$output" != *"once more"* ]]
    [[ "${lines[-1]}" == "0 passed, 1 failed, 0 skipped, 0 retried" ]]
  done
  run -0 jobs_run "run_limit=-1; add_job late program '' 'sleep 1000'; add_job later program '' 'sleep 1000'"
  [[ "${lines[-1]}" == "0 passed, 2 failed, 0 skipped, 0 retried" ]]
  run -0 jobs_run "job_limit=0; add_job long program '' 'trap \"\" TERM; while true; do sleep 0.1; done'"
  [[ "${lines[-1]}" == "0 passed, 1 failed, 0 skipped, 0 retried" ]]
}

@test "TERM ends the runner and what it runs, whatever it does at that moment" {
  jobs_run "heed_stop_signals; trap end_jobs EXIT
    sleeps() { echo \$BASHPID >'$BATS_TEST_TMPDIR/job'; while true; do sleep 0.1; done; }
    echo \$\$ >'$BATS_TEST_TMPDIR/runner'
    add_job deaf program '' sleeps; add_job quick program '' 'sleep 0.1'" 3>&- &
  until [ -s "$BATS_TEST_TMPDIR/job" ] && [ -s "$BATS_TEST_TMPDIR/runner" ]; do sleep 0.05; done
  kill "$(cat "$BATS_TEST_TMPDIR/runner")"
  local status=0
  wait "$!" || status=$?
  [ "$status" = 143 ]
  until ! kill -0 "$(cat "$BATS_TEST_TMPDIR/job")" 2>/dev/null; do sleep 0.05; done
}

@test "the end of a job is understood when half of it comes late, and once when it comes twice" {
  run -0 jobs_run "says_so_in_halves() {
      local pid=\$BASHPID
      echo -n \"\${pid:0:2}\" >&\"\$job_ends\"
      sleep 3
      echo \"\${pid:2} 0\" >&\"\$job_ends\"
    }
    add_job halves program '' says_so_in_halves; add_job after program halves true"
  [[ "${lines[-1]}" == "2 passed, 0 failed, 0 skipped, 0 retried" ]]
}

@test "an install that was interrupted or failed is not recorded as done" {
  mkdir -p "$BATS_TEST_TMPDIR/tree/tests/interop/node" "$BATS_TEST_TMPDIR/bin"
  cd "$BATS_TEST_TMPDIR/tree"
  echo '{}' | tee tests/interop/node/package.json >tests/interop/node/package-lock.json
  install="$(sed -n '/^install_node_packages() {/,/^}/p' "$root/scripts/check"); PATH=$BATS_TEST_TMPDIR/bin:$PATH"
  printf '#!/bin/sh\nmkdir -p build/interop.part/node_modules; exit 1\n' >"$BATS_TEST_TMPDIR/bin/npm"
  chmod +x "$BATS_TEST_TMPDIR/bin/npm"
  run -0 jobs_run "$install; add_job packages build '' install_node_packages"
  [[ "${lines[-1]}" == "0 passed, 1 failed, 0 skipped, 0 retried" ]]
  [ ! -e build/interop ]
  printf '#!/bin/sh\nmkdir -p build/interop.part/node_modules\n' >"$BATS_TEST_TMPDIR/bin/npm"
  run -0 jobs_run "$install; add_job packages build '' install_node_packages"
  [[ "${lines[-1]}" == "0 passed, 0 failed, 0 skipped, 0 retried" ]]
  [ -d build/interop/node_modules ]
}

@test "a missing foreign client is skipped where one can see it, and a failure with CI=true" {
  export NODE_PATH=$BATS_TEST_TMPDIR/none root
  run -0 bash -c ". '$root/tests/support/peers.bash'; NODE_PATH=$NODE_PATH; skip() { echo \"skip: \$*\"; exit 0; }; node_peer x </dev/null"
  [[ "$output" == "skip: no node clients"* ]]
  run -0 grep -A 3 'skipped" -gt 0 \] && \[ "${CI-}" = true' "$root/scripts/check"
  [[ "$output" == *"status=1"* ]]
}

# KIND STATUS PASSED-FAILED-SKIPPED OUTPUT
counts() { [ "$(printf '%b' "$4" | counted "$1" "$2")" = "$3" ]; }

@test "bats: what passed, failed and was skipped is counted, and what never reported is a failure" {
  counts bats 1 "2 1 1" '1..4\nok 1 a\nnot ok 2 b\nok 3 c # skip why\nok 4 d\n'
  counts bats 1 "1 3 0" '1..4\nok 1 a\n'
  counts bats 1 "0 1 0" 'a file that cannot be loaded: syntax error\n'
  counts bats 1 "1 1 0" '1..1\nok 1 a\n' # a status that no test explains
}

@test "doctest: cases are counted; a crash, a sanitizer's complaint and a program without a case are failures" {
  counts doctest 1 "10 2 3" '[doctest] test cases:  12 |  10 passed | 2 failed | 3 skipped\n'
  counts doctest 139 "0 1 0" 'Segmentation fault\n'
  counts doctest 1 "12 1 0" '[doctest] test cases: 12 | 12 passed | 0 failed | 0 skipped\nSUMMARY: AddressSanitizer\n'
  counts doctest 0 "0 1 0" '[doctest] test cases: 0 | 0 passed | 0 failed | 0 skipped\n'
}

@test "program: the status decides" {
  counts program 0 "1 0 0" ''
  counts program 77 "0 0 1" ''
  counts program 124 "0 1 0" ''
}

@test "an unknown suite is a usage error" {
  run -64 "$root/scripts/check" unti
  [[ $output == *"no suite 'unti'"* ]]
}
