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
    run_jobs ${lanes:-2}
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

@test "a job that fails with more to say than is shown ends nothing but itself" {
  run -0 jobs_run "add_job it bats '' 'echo 1..1; echo not ok 1 a; seq 100000; false'; add_job next program '' true"
  [[ "${lines[-1]}" == "1 passed, 1 failed, 0 skipped, 0 retried" ]]
}

@test "what needs a job that failed does not run, and is a failure" {
  run -0 jobs_run "add_job first build '' false; add_job second program first 'touch $BATS_TEST_TMPDIR/ran'; add_job third program '' true"
  [[ "${lines[-1]}" == "1 passed, 2 failed, 0 skipped, 0 retried" ]]
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
  grep -q 'not run, because first failed' "$BATS_TEST_TMPDIR/logs/second.log"
}

@test "what a job says of its environment holds for those that need it, and no others" {
  run -0 jobs_run "add_job first program '' 'mkdir \"\$logs/first\"; echo export place=here >\"\$logs/first/env\"'
    add_job second program first '[ \"\$place\" = here ]'; add_job third program second '[ ! \"\${place-}\" ]'"
  echo "$output"
  [[ "${lines[-1]}" == "3 passed, 0 failed, 0 skipped, 0 retried" ]]
}

# Jobs in one lane, or two while the cores, which have nothing to do for so many percent of their time, say so.
one_lane_or_two() { # PERCENT SCRIPT
  lanes='1 2' run -0 jobs_run "look_at_cores() { ticks=\$((\${ticks:-0} + job_cores * 1000)); spent=(\$ticks \$((ticks * $1 / 100))); }
    $2"
  echo "$output"
  [[ "${lines[-1]}" == "2 passed, 0 failed, 0 skipped, 0 retried" ]]
}

@test "one more job begins while the cores have a tenth of their time left, and none while they have less" {
  local other='wait_for() { for _ in {1..200}; do [ ! -e "$logs/$1" ] || return 0; sleep 0.1; done; return 1; }'
  one_lane_or_two 10 "$other
    add_job one program '' 'touch \"\$logs/first\"; wait_for second'
    add_job two program '' 'touch \"\$logs/second\"; wait_for first'"
  one_lane_or_two 9 "add_job one program '' 'touch \"\$logs/runs\"; sleep 3; rm \"\$logs/runs\"'
    add_job two program '' '[ ! -e \"\$logs/runs\" ]'"
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

# bats test_tags=all
@test "a test that fails beside others and passes alone is passed, and said to be retried" {
  run -0 jobs_run "$(failing_at_first 1 2)"
  echo "$output"
  [[ "$output" == *"retried: faults/it: 2 failed beside others and passed alone"* ]]
  [[ "${lines[-1]}" == "2 passed, 0 failed, 0 skipped, 2 retried" ]]
}

@test "what a sanitizer found, a stress test and a program are not tried again" {
  run -0 jobs_run "add_job asan/it part '' 'echo \"ERROR: AddressSanitizer: heap-use-after-free\"; false'
    add_job stress/it bats '' 'printf \"1..1\\nnot ok 1 a\\n\"; false'
    add_job it program '' false"
  [[ "$output" != *"once more"* ]]
  [[ "${lines[-1]}" == "0 passed, 3 failed, 0 skipped, 0 retried" ]]
}

# bats test_tags=all
@test "a missing foreign client is skipped where one can see it, and a failure with CI=true" {
  export NODE_PATH=$BATS_TEST_TMPDIR/none root
  run -0 bash -c ". '$root/tests/support/peers.bash'; NODE_PATH=$NODE_PATH; skip() { echo \"skip: \$*\"; exit 0; }; node_peer x </dev/null"
  [[ "$output" == "skip: no node clients"* ]]
  run -0 grep -A 3 'skipped" -gt 0 \] && \[ "${CI-}" = true' "$root/scripts/check"
  [[ "$output" == *"status=1"* ]]
}

# KIND STATUS PASSED-FAILED-SKIPPED OUTPUT
counts() { [ "$(printf '%b' "$4" | counted "$1" "$2")" = "$3" ]; }

# bats test_tags=all
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

# bats test_tags=all
@test "program: the status decides" {
  counts program 0 "1 0 0" ''
  counts program 77 "0 0 1" ''
  counts program 124 "0 1 0" ''
}

@test "an unknown suite is a usage error" {
  run -64 "$root/scripts/check" unti
  [[ $output == *"no suite 'unti'"* ]]
}
