# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# A backend is one folder and one line: tests/support/toy_backend, put into a copy of the tree, is built and keeps locks.
bats_require_minimum_version 1.5.0

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  export tree=$BATS_FILE_TMPDIR/tree build=$BATS_FILE_TMPDIR/tree/build/ci
  mkdir "$tree"
  cp -r "$root"/{CMakeLists.txt,CMakePresets.json,CHANGELOG.md,LICENSE,backends,cmake,cmd,examples,lib,man} "$tree/"
  cp -r "$root/tests/support/toy_backend" "$tree/backends/toy"
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

@test "dlock itself knows the parameters of its URLs" {
  mv "$build/libexec" "$build/elsewhere"
  run -78 --separate-stderr dlock -b "$store?color=red" run k -- true
  mv "$build/elsewhere" "$build/libexec"
  [[ $stderr == *"did you mean 'colour'"* ]]
}
