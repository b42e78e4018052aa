# SPDX-License-Identifier: Apache-2.0
# scripts/check-layers finds each kind of include that goes the wrong way, and lets the right ones pass.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  tree=$BATS_TEST_TMPDIR/tree
  cd "$root" || return
  mkdir -p "$tree"/{cmd/{options,show,wiring,commands},lib/base,lib/config,lib/run,backends/local,backends/redis/{wire,deployment,native,quorum,attic}}
  cp --parents backends/{local,redis}/backend.cmake "$tree"
}

refused() { # FILE INCLUDE
  echo "#include $2" >"$tree/$1"
  run -1 "$root/scripts/check-layers" "$tree"
  [[ $output == "$1:1: includes "* ]]
  rm "$tree/$1"
}

@test "an include against the arrows is refused" {
  refused lib/x.cpp '"backends/registry.h"'
  refused lib/x.h '"cmd/options/options.h"'
  refused lib/base/x.h '"lib/lock/owner.h"'
  refused backends/local/x.cpp '"cmd/options/options.h"'
  refused backends/local/x.cpp '"lib/run/supervisor.h"'
  refused backends/local/x.cpp '"backends/redis/backend.h"'
  refused backends/local/x.cpp '"backends/registry.h"'
  refused cmd/commands/run.cpp '"backends/registry.h"'
  refused cmd/wiring/compose.cpp '"backends/local/admin.h"'
  refused cmd/x.cpp '<toml++/toml.h>'
  refused cmd/options/arguments.cpp '<CLI/CLI.hpp>'
  refused lib/x.h '<CLI/App.hpp>'
  refused lib/x.cpp '<nlohmann/json.hpp>'
  refused cmd/x.cpp '<iostream>'
  refused lib/x.cpp '<sstream>'
  refused backends/local/x.cpp '  <regex>'
  refused lib/x.h '<doctest/doctest.h>'
}

# bats test_tags=all
@test "only lib/lock/patience reads a WaitPolicy; cmd makes it" {
  for file in backends/local/lock.cpp lib/run/x.h; do
    echo '  if (spec_.wait.once || wait->until) return;' >"$tree/$file"
    run -1 "$root/scripts/check-layers" "$tree"
    [[ $output == "$file:1: reads a WaitPolicy: "* ]]
    rm "$tree/$file"
  done
  mkdir -p "$tree/lib/lock"
  for file in cmd/options/wait_policy.cpp lib/lock/patience.cpp; do echo '  return wait.tries > 0;' >"$tree/$file"; done
  run -0 "$root/scripts/check-layers" "$tree"
}

# bats test_tags=all
@test "an include from a room into one above it, beside it, or into none is refused" {
  refused cmd/options/x.h '"cmd/show/output.h"'
  refused cmd/wiring/x.cpp '"cmd/program.h"'
  refused backends/redis/wire/x.cpp '"backends/redis/native/layout.h"'
  refused backends/redis/quorum/x.cpp '"backends/redis/native/layout.h"'
  refused backends/redis/attic/x.cpp '"backends/redis/wire/reply.h"'
}

@test "the arrows themselves are let pass" {
  echo '#include "lib/lock/owner.h"' >"$tree/cmd/x.cpp"
  echo '#include "backends/registry.h"' >"$tree/cmd/wiring/compose.cpp"
  echo '#include "lib/base/result.h"' >"$tree/lib/base/x.cpp"
  echo '#include <toml++/toml.h>' >"$tree/lib/config/config_file.cpp"
  echo '#include <CLI/CLI.hpp>' >"$tree/cmd/options/given_options.cpp"
  printf '#include "backends/local/x.h"\n#include "lib/lock/lock_admin.h"\n' >"$tree/backends/local/x.cpp"
  printf '#include "backends/redis/wire/reply.h"\n#include "backends/redis/native/layout.h"\n' >"$tree/backends/redis/native/x.cpp"
  echo '#include "cmd/options/options.h"' >"$tree/cmd/commands/x.cpp"
  run -0 "$root/scripts/check-layers" "$tree"
  [ "$output" = "" ]
}
