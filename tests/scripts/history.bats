# SPDX-License-Identifier: Apache-2.0
# The judge of histories (tests/support/history.py) must be able to say no.
bats_require_minimum_version 1.5.0
history() { /usr/bin/python3 -S -E "$BATS_TEST_DIRNAME/../support/history.py" "$1" "$BATS_TEST_TMPDIR/history" "${@:2}"; }
written() { printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/history"; }

@test "sections one behind the other are right" {
  written '1 a BEGIN 5' '2 a TICK' '3 a END' '4 b BEGIN 6' '5 b END'
  run -0 history check --sections 2
}

@test "an act behind the next one's BEGIN is wrong" {
  written '1 a BEGIN 5' '4 b BEGIN 6' '5 a TICK' '6 b END'
  run -1 history check
  [[ "$output" == *"line 3: a acts (TICK) after b has begun"* ]]
}

@test "a token that does not grow is wrong" {
  written '1 a BEGIN 5' '2 a END' '4 b BEGIN 5' '5 b END'
  run -1 history check
  run -0 history check --unfenced
}

@test "a missing section is wrong, and so is an empty history" {
  written '1 a BEGIN 5' '2 a END'
  run -1 history check --sections 2
  : >"$BATS_TEST_TMPDIR/history"
  run -1 history check
}

@test "the gap is measured from the last act" {
  written '1000000 a BEGIN 5' '2000000 a TICK' '9000000 b BEGIN 6'
  [ "$(history gap)" = 7 ]
}

@test "a section writes what the judge reads" {
  run -0 history section --for 0.05
  run -0 history check --sections 1
  grep -q TICK "$BATS_TEST_TMPDIR/history"
}

@test "--ours: foreign sections may overlap each other, ours nobody" {
  written '1 a BEGIN -' '2 b BEGIN -' '3 a END' '4 b END' '5 c BEGIN 5' '6 c END'
  run -0 history check --sections 3 --ours
  written '1 a BEGIN -' '2 c BEGIN 5' '3 a END' '4 c END'
  run -1 history check --sections 2 --ours
  [[ "$output" == *"a and c run at the same time"* ]]
  written '1 a BEGIN -' '2 c BEGIN 5' '3 c END' '4 a END'
  run -1 history check --sections 2 --ours
  written '1 a BEGIN -' '2 a END'
  run -1 history check --sections 1 --ours
}
