# SPDX-License-Identifier: Apache-2.0
# A hundred and seventy mistakes, each a row: its exit status, and that the answer says what, why and what next, in 80
# columns. What exactly some of them say is in messages.bats.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }

# A line that people paste stays whole, and so does what has a long name in it.
may_be_longer() { [[ $1 == *"dlock "[a-z-]* || $1 == *://* || $1 =~ [^\ ]{28} || $1 == *.toml* || $1 == *"(error "* ]]; } # LINE

# STATUS LINE: complains in `bad`.
judge() {
  local line=$2 status=0 said row
  said=$(eval "timeout 20 $line" 2>&1 >/dev/null </dev/null) || status=$?
  mapfile -t said <<<"$said"
  [ "$status" = "$1" ] || bad+="$line: status $status and not $1"$'\n'
  [ ${#said[@]} -ge 2 ] || bad+="$line: no next step after: ${said[0]}"$'\n'
  [[ ${said[0]} == "dlock: "* && ${said[1]-  } == "  "* ]] || bad+="$line: not what, then next: ${said[*]}"$'\n'
  for row in "${said[@]}"; do
    [ ${#row} -le 80 ] || may_be_longer "$row" || bad+="$line: ${#row} columns: $row"$'\n'
    [[ $row != *' ' ]] || bad+="$line: ends with a blank: $row"$'\n'
  done
}

@test "each mistake is answered with what is wrong and the next step, in 80 columns" {
  local status line bad='' count=0
  while IFS='|' read -r status line; do
    judge "${status% }" "${line# }"
    count=$((count + 1))
  done <"$BATS_TEST_DIRNAME/mistakes.txt"
  [ "$count" -ge 150 ]
  [ -z "$bad" ] || { echo "$bad"; return 1; }
  [ ! -e ran ]
}
