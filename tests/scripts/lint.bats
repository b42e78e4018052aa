# SPDX-License-Identifier: Apache-2.0
# scripts/lint where it cannot judge.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  bin=$BATS_TEST_TMPDIR/bin
  mkdir "$bin"
  printf '#!/bin/sh\necho "Debian clang-format version 19.1.7 (3+b1)"\n[ "$1" = --version ] || exit 1\n' >"$bin/clang-format"
  chmod +x "$bin/clang-format"
}

@test "the layout is skipped, and says so, with another clang-format than 14" {
  PATH=$bin:$PATH run -77 "$root/scripts/lint" layout
  [[ $output == *"skipped"*"clang-format 14"*"version 19"* ]]
  PATH=$bin:$PATH run -77 "$root/scripts/lint" layout layers
}

@test "a layout that clang-format 14 refuses is a failure" {
  sed -i 's/version 19/version 14/' "$bin/clang-format"
  PATH=$bin:$PATH run -1 "$root/scripts/lint" layout layers
}
