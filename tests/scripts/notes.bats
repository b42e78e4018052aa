# SPDX-License-Identifier: Apache-2.0
# What is known of a holder is an enum (Standing, lib/lock/holder.h). Its note is text for people, which no code compares.
bats_require_minimum_version 1.5.0

comparisons() { # FOLDER...
  grep -rnE --include='*.cpp' --include='*.h' \
    '(\.|->)note\.(find|rfind|starts_with|ends_with|contains|compare|substr|size|length)\(|(\.|->)note *[!=]=|[!=]= *[A-Za-z_.>()*-]*(\.|->)note\b|note_text\([^;]*\) *[!=]=' "$@"
}

@test "no code compares a note, or another text that is shown" {
  cd "$BATS_TEST_DIRNAME/../.."
  run ! comparisons cmd lib backends
  echo "$output"
  [ -z "$output" ]
}

@test "the search for comparisons of notes finds each kind of them" {
  local line
  cd "$BATS_TEST_TMPDIR"
  for line in 'if (one.note == "stopped")' 'holder->note.ends_with("no majority")' 'kText != holder.note' \
    'a.note.find("x") != npos' 'note_text(one) == ""'; do
    echo "$line" >code.cpp
    [ "$(comparisons . | wc -l)" = 1 ]
  done
  echo 'if (!one.note.empty()) text += one.note;' >code.cpp
  run ! comparisons .
}
