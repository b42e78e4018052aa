# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# -DDLOCK_BACKENDS builds what it names, and asks for nothing else.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  tree=$BATS_TEST_TMPDIR/tree
}

configure() { cmake -S "$root" -B "$tree" -G Ninja -DDLOCK_TESTS=OFF "$@" 2>&1; }

@test "the libraries, programs and pages of a backend that is left out are not asked for" {
  run -0 configure "-DDLOCK_BACKENDS=local;redis"
  run ! grep -E '^dlock_(connector|shared_mariadb|shared_zookeeper)_LIBRARY' "$tree/CMakeCache.txt"
  grep '^dlock_shared_hiredis_LIBRARY' "$tree/CMakeCache.txt"
  run -0 ninja -C "$tree" -t targets all
  [[ $output == *dlock-redis* ]]
  [[ $output != *dlock-mysql* && $output != *dlock-zookeeper* ]]
}

@test "unit and conformance tests are built for the backends that are named" {
  run -0 configure "-DDLOCK_BACKENDS=local;redis" -DDLOCK_TESTS=ON
  run -0 ninja -C "$tree" -t targets all
  [[ $output == *tests/dlock_conformance:* && $output == *tests/dlock_unit:* ]]
  run ! grep -lE 'mysql|zookeeper' "$tree"/unity/tests_*
}

@test "a backend that does not exist, and one that cannot be left out, are named" {
  run ! configure "-DDLOCK_BACKENDS=local;nowhere"
  [[ $output == *"there is no backend 'nowhere'"* ]]
  run ! configure "-DDLOCK_BACKENDS=redis"
  [[ $output == *"'local' is a part of dlock itself"* ]]
}

@test "a library that is missing is named with its package" {
  # As where nothing is installed: the system's folders are not looked into.
  echo 'set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)' >"$BATS_TEST_TMPDIR/nothing.cmake"
  echo 'set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)' >>"$BATS_TEST_TMPDIR/nothing.cmake"
  run ! configure "-DDLOCK_BACKENDS=local;redis" "-DCMAKE_PROJECT_INCLUDE=$BATS_TEST_TMPDIR/nothing.cmake"
  [[ $output == *"apt install nlohmann-json3-dev"* ]]
  run ! configure "-DDLOCK_BACKENDS=local;redis" "-DCMAKE_PROJECT_INCLUDE=$BATS_TEST_TMPDIR/nothing.cmake" -DNLOHMANN_INCLUDE=/usr/include
  [[ $output == *"apt install libsqlite3-dev"* ]]
}
