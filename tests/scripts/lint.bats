# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
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

@test "tidy reads the sources of a tree whose path has a blank" {
  tree="$BATS_TEST_TMPDIR/a tree"
  mkdir "$tree"
  tar -C "$root" --exclude=./build --exclude=./.git -c . | tar -C "$tree" -x
  printf '#!/bin/sh\nfor last; do :; done\ntest -f "$last"\n' >"$bin/clang-tidy"
  chmod +x "$bin/clang-tidy"
  PATH=$bin:$PATH run -0 "$tree/scripts/lint" tidy
}

@test "a script for Redis that does not include what it calls is a failure" {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir "$tree"
  tar -C "$root" --exclude=./build --exclude=./.git -c . | tar -C "$tree" -x
  "$tree/scripts/lint" lua
  sed -i '/include .*marker/d' "$tree/backends/redis/native/scripts/renew.lua"
  run -1 "$tree/scripts/lint" lua
  [[ $output == *"native/scripts/renew.lua: is_marked is no local name"* ]]
}

@test "a script for Redis with a mistake in its syntax is a failure" {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir "$tree"
  tar -C "$root" --exclude=./build --exclude=./.git -c . | tar -C "$tree" -x
  echo 'if held return' >>"$tree/backends/redis/quorum/scripts/read_state.lua"
  run -1 "$tree/scripts/lint" lua
  [[ $output == *"quorum/scripts/read_state.lua"* ]]
}

@test "of the scripts that changed, those of the shell are read, in whatever language the others are" {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir "$tree"
  tar -C "$root" --exclude=./build --exclude=./.git -c . | tar -C "$tree" -x
  git -C "$tree" init -q
  git -C "$tree" add -A
  git -C "$tree" -c user.name=a -c user.email=a@example.org commit -qm 'what others have'
  git -C "$tree" tag v0
  echo '# changed' >>"$tree/scripts/stock-chart"
  git -C "$tree" -c user.name=a -c user.email=a@example.org commit -qam 'changes a script in Python'
  "$tree/scripts/lint" changed
  echo 'echo $unquoted' >>"$tree/scripts/format"
  run -1 "$tree/scripts/lint" changed
  [[ $output == *"SC2086"* ]]
}

@test "two assertions of a test in one line are a failure: the first one would not count" {
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/scripts" "$tree/tests"
  cp "$root/scripts/lint" "$tree/scripts/"
  cp "$root/.shellcheckrc" "$tree/"
  printf '@test "a" {\n  [ -e a ]\n  [[ -e a && -e b ]]\n}\n' >"$tree/tests/a.bats"
  "$tree/scripts/lint" shell
  sed -i 's/^  \[ -e a \]$/& \&\& [ -e b ]/' "$tree/tests/a.bats"
  run -1 "$tree/scripts/lint" shell
  [[ $output == *"tests/a.bats:2:"*"one assertion a line"* ]]
}
