# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# A backend is one folder and one line: tests/support/toy_backend, put into a copy of the tree, is built. It only keeps rows, in
# memory and a file, and has from lib what every store has that keeps rows.
bats_require_minimum_version 1.5.0

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  export tree=$BATS_FILE_TMPDIR/tree build=$BATS_FILE_TMPDIR/tree/build/ci
  mkdir "$tree"
  cp -r "$root"/{CMakeLists.txt,CMakePresets.json,CHANGELOG.md,LICENSE,backends,cmake,cmd,examples,lib,man} "$tree/"
  cp -r "$root/tests/support/toy_backend" "$tree/backends/toy"
  cp "$root/tests/support/memory_rows.h" "$tree/backends/toy/rows/"
  sed -i 's/^  local$/&\n  toy/' "$tree/backends/CMakeLists.txt"
  build >"$BATS_FILE_TMPDIR/log" 2>&1 || {
    tail -n 40 "$BATS_FILE_TMPDIR/log"
    return 1
  }
}

# As the tests are built, from whose compiler cache most of it comes then.
build() {
  cd "$tree" || return
  CCACHE_BASEDIR=$tree cmake --preset ci -DDLOCK_TESTS=OFF "-DDLOCK_BACKENDS=local;toy" &&
    CCACHE_BASEDIR=$tree cmake --build --preset ci --target dlock dlock-toy
}

setup() {
  PATH=$build/bin:$PATH
  store=toy:$BATS_TEST_TMPDIR
}

@test "a backend that is one folder and one line keeps locks" {
  run -0 dlock -b "$store" run k -- sh -c 'dlock -b "$0" inspect k --json; echo "$DLOCK_STORE"' "$store"
  [[ $output == *'"holders":[{'* ]]
  [[ $output == *"$store" ]]
  run -0 dlock -b "$store" inspect k
  [[ $output == *free* ]]
}

@test "it excludes, and says so" {
  run ! --separate-stderr dlock -b "$store" run k -- env -i "PATH=$PATH" dlock -b "$store" run -n k -- true
  [[ $stderr == *'k is held'* ]]
}

alone() { env -i "PATH=$PATH" "DLOCK_BACKEND=$store" dlock "$@"; } # not inside of what is held

@test "readers, permits, the order of arrival and leases are those of every store" {
  export -f alone
  export store DLOCK_BACKEND=$store
  run -0 dlock run --shared k -- bash -c 'alone run -n --shared k -- true && ! alone run -n k -- true'
  run -0 dlock run --permits 2 p -- bash -c 'alone run -n --permits 2 p -- true && ! alone run -n --permits 3 p -- true'
  run -0 dlock run --fair k -- true
  eval "$(dlock acquire --ttl 5m --shell lease)"
  run -75 alone run -n lease -- true
  dlock renew --ttl 10m --owner "$DLOCK_OWNER" lease
  dlock release --owner "$DLOCK_OWNER" lease
  unset DLOCK_OWNER DLOCK_HELD
  run -0 alone run -n lease -- true
}

@test "a holder can be asked to end, and freed by force with a reason" {
  export DLOCK_BACKEND=$store DLOCK_EVENTS=$BATS_TEST_TMPDIR/events
  dlock run -q k -- sleep 60 3>&- &
  until dlock inspect k --json | grep -q '"holders":\[{'; do sleep 0.1; done
  run -0 dlock force-release --yes --reason 'in the way' k
  wait $! || [ $? = 79 ]
  run -0 dlock history
  [[ $output == *'in the way'* ]]
}

@test "--once, fences and what is swept are those of every store" {
  export DLOCK_BACKEND=$store
  local n
  cd "$BATS_TEST_TMPDIR"
  for n in 1 2; do run -0 dlock run --once slot k -- sh -c 'echo ran >>runs'; done
  [ "$(<runs)" = ran ]
  run -0 dlock fence resource 7
  run -79 dlock fence resource 6
  run -0 dlock acquire --ttl 1s over
  until dlock inspect over | grep -q free; do sleep 0.1; done
  run -0 dlock gc
  [[ $output == *over* ]]
  run -0 dlock ping
  run -0 dlock doctor
}

@test "stocks are those of every store" {
  export DLOCK_BACKEND=$store
  dlock stock create phone --quantity 10 --segments 3
  run -0 dlock stock take phone --id a --qty 2
  run -0 dlock stock take phone --id a --qty 2
  run -0 dlock stock run phone --qty 3 -- true
  run -0 dlock stock refund phone --id a
  run -0 dlock stock show phone --json
  [[ $output == *'"total":7'* ]]
}

@test "dlock itself knows the parameters of its URLs" {
  mv "$build/libexec" "$build/elsewhere"
  run -78 --separate-stderr dlock -b "$store?color=red" run k -- true
  mv "$build/elsewhere" "$build/libexec"
  [[ $stderr == *"did you mean 'colour'"* ]]
}
