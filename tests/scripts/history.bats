# SPDX-License-Identifier: Apache-2.0
# The judge of histories (tests/support/programs/history_judge.cpp) must be able to say no.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }
written() { printf '%s\n' "$@" >history; }

@test "sections one behind the other are right" {
  written '1 a BEGIN 5' '2 a TICK' '3 a END' '4 b BEGIN 6' '5 b END'
  run -0 history check --sections 2
}

@test "an act behind the next one's BEGIN is wrong" {
  written '1 a BEGIN 5' '4 b BEGIN 6' '5 a TICK' '6 b END'
  run -1 history check
  [[ "$output" == *"a and b hold k at the same time"* ]]
}

@test "a token that does not grow is wrong" {
  written '1 a BEGIN 5' '2 a END' '4 b BEGIN 5' '5 b END'
  run -1 history check
  run -0 history check --unfenced
}

@test "a missing section is wrong, and so is an empty history" {
  written '1 a BEGIN 5' '2 a END'
  run -1 history check --sections 2
  : >history
  run -1 history check
}

@test "a line that is torn is wrong" {
  written '1 a BEGIN 5' '2 a EN' '2 a END'
  run -1 history check
}

@test "the gap is measured from the last act" {
  written '1000000 a BEGIN 5' '2000000 a TICK' '9000000 b BEGIN 6'
  [ "$(history gap)" = 7 ]
}

@test "a section writes what the judge reads" {
  script_section
  run -0 dlock run k -- section --for 0.05
  run -0 history check --sections 1 --ours
  grep -q TICK history
}

@test "--ours: foreign sections may overlap each other, ours nobody" {
  written '1 a BEGIN -' '2 b BEGIN -' '3 a END' '4 b END' '5 c BEGIN 5' '6 c END'
  run -0 history check --sections 3 --ours
  written '1 a BEGIN -' '2 c BEGIN 5' '3 a END' '4 c END'
  run -1 history check --sections 2 --ours
  [[ "$output" == *"a and c hold k at the same time"* ]]
  written '1 a BEGIN -' '2 c BEGIN 5' '3 c END' '4 a END'
  run -1 history check --sections 2 --ours
  written '1 a BEGIN -' '2 a END'
  run -1 history check --sections 1 --ours
}
