# SPDX-License-Identifier: Apache-2.0
# scripts/check counts what its suites say, and cannot be green when something failed, was skipped in CI or never ran.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  log=$BATS_TEST_TMPDIR/log
}

# The counts of a log, by the function of scripts/check that reads this KIND of log.
counted() { # KIND STATUS < LOG
  cat >"$log"
  bash -c "$(sed -n '/^count_[a-z]*() {/,/^}/p' "$root/scripts/check"); count_$1 '$log' $2"
}

@test "bats: passed, failed and skipped tests are counted" {
  [ "$(printf '1..4\nok 1 a\nnot ok 2 b\nok 3 c # skip why\nok 4 d\n' | counted bats 1)" = "2 1 1" ]
}

@test "bats: tests of the plan that never reported are failures" {
  [ "$(printf '1..4\nok 1 a\n' | counted bats 1)" = "1 3 0" ]
}

@test "bats: a file that cannot be loaded is a failure" {
  [ "$(printf 'syntax error\n' | counted bats 1)" = "0 1 0" ]
}

@test "bats: a status that no test explains is a failure" {
  [ "$(printf '1..1\nok 1 a\n' | counted bats 1)" = "1 1 0" ]
}

@test "doctest: cases are counted" {
  [ "$(printf '[doctest] test cases:  12 |  10 passed | 2 failed | 3 skipped\n' | counted doctest 1)" = "10 2 3" ]
}

@test "doctest: a program that crashed before its summary is a failure" {
  [ "$(printf 'Segmentation fault\n' | counted doctest 139)" = "0 1 0" ]
}

@test "doctest: a sanitizer that complains after a green summary is a failure" {
  [ "$(printf '[doctest] test cases: 12 | 12 passed | 0 failed | 0 skipped\nSUMMARY: AddressSanitizer\n' | counted doctest 1)" = "12 1 0" ]
}

@test "doctest: a program without a single case is a failure" {
  [ "$(printf '[doctest] test cases: 0 | 0 passed | 0 failed | 0 skipped\n' | counted doctest 0)" = "0 1 0" ]
}

@test "program: the status decides" {
  [ "$(counted program 0 </dev/null)" = "1 0 0" ]
  [ "$(counted program 77 </dev/null)" = "0 0 1" ]
  [ "$(counted program 124 </dev/null)" = "0 1 0" ]
}

@test "an unknown suite is a usage error" {
  run -64 "$root/scripts/check" unti
  [[ $output == *"no suite 'unti'"* ]]
}
