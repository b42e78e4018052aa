# SPDX-License-Identifier: Apache-2.0
# scripts/packages.txt names what the scripts and the tests call.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

unlisted() { "$root/tests/support/unlisted_commands.py" "$1"; }

@test "every command that scripts and tests call is of a listed package or of an essential one" {
  run -0 unlisted "$root"
  [ "$output" = "" ] || { echo "COMMAND PACKAGE FILE...: $output"; false; }
}

# bats test_tags=all
@test "a command that no listed package has is found, wherever a command can stand" {
  mkdir -p "$BATS_TEST_TMPDIR/scripts"
  echo 'bash build what' >"$BATS_TEST_TMPDIR/scripts/packages.txt"
  local line
  for line in 'jq .' 'echo | jq .' 'x=$(jq .)' 'if jq .; then' 'A=1 jq .' 'run -1 jq .' 'true && jq .' 'command -v jq'; do
    printf '#!/bin/bash\n%s\n' "$line" >"$BATS_TEST_TMPDIR/scripts/caller"
    run -0 unlisted "$BATS_TEST_TMPDIR"
    [ "$output" = "jq jq scripts/caller" ]
  done
  printf '#!/bin/bash\necho "jq" # jq\n' >"$BATS_TEST_TMPDIR/scripts/caller"
  run -0 unlisted "$BATS_TEST_TMPDIR"
  [ "$output" = "" ]
}

# bats test_tags=all
@test "a function is no command, whatever package of this machine has a command of that name" {
  mkdir -p "$BATS_TEST_TMPDIR/scripts" "$BATS_TEST_TMPDIR/tests"
  echo 'bash build what' >"$BATS_TEST_TMPDIR/scripts/packages.txt"
  printf 'jq() { :; }\n' >"$BATS_TEST_TMPDIR/tests/functions.bash"
  printf '#!/bin/bash\njq .\n' >"$BATS_TEST_TMPDIR/scripts/caller"
  run -0 unlisted "$BATS_TEST_TMPDIR"
  [ "$output" = "" ]
}

@test "the lists have no package twice, and none without its purpose" {
  run -0 awk '!/^#/ && NF { if (seen[$1]++) print "twice: " $1; if ($2 !~ /^(build|test|docs|package|release)$/ || NF < 3) print "bad: " $0 }' \
    "$root/scripts/packages.txt"
  [ "$output" = "" ]
}
