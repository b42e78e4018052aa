# SPDX-License-Identifier: Apache-2.0
# How static programs start: cmake/static_start.cpp, in programs of its own and in those that were built.
bats_require_minimum_version 1.5.0

setup() {
  cmake=$(realpath "$BATS_TEST_DIRNAME/../../cmake")
  build=${DLOCK_BUILD:-$(realpath "$BATS_TEST_DIRNAME/../../build/ci")}
  cd "$BATS_TEST_TMPDIR" || return
  [[ $(uname -m) = x86_64 && $(getconf GNU_LIBC_VERSION) = 'glibc 2.36' ]] ||
    skip 'programs start here as the C library has it (cmake/static_start.cmake)'
}

questions_of() { objdump -d "$1" | grep -cw cpuid || true; } # PROGRAM

# checked OPTION [SOURCE]: whether the check passes, linked with OPTION and this start, or the library's.
checked() {
  c++ -std=c++20 -fPIE -fno-stack-protector -fno-builtin "$cmake/static_start_check.cpp" "${@:2}" "$1" -Wl,-z,relro,-z,now -o check
  START_CHECK=set ./check a ''
}

# configured: a program that is built by static_start.cmake in this folder, which copies what is here.
configured() {
  cp -n "$cmake"/static_start* .
  cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(toy CXX)
set(DLOCK_STATIC ON)
add_library(dlock_flags INTERFACE)
include(static_start.cmake)
file(WRITE ${CMAKE_BINARY_DIR}/toy.cpp "int main() {}")
add_executable(toy ${CMAKE_BINARY_DIR}/toy.cpp)
target_link_options(toy PRIVATE -static)
dlock_start_statically(toy)
CMAKE
  cmake -G Ninja -B built . && cmake --build built && built/toy
}

@test "dlock and its static keepers ask the processor nothing" {
  local program
  for program in bin/dlock libexec/dlock/dlock-local libexec/dlock/direct/dlock-redis; do
    [ "$(questions_of "$build/$program")" = 0 ] || { echo "$program asks"; return 1; }
  done
}

@test "what the C library does for a program at its start and end is done, at a fixed address and elsewhere" {
  local option
  for option in -static -static-pie; do
    checked "$option"
    checked "$option" "$cmake/static_start.cpp"
  done
}

@test "programs that are built with it start so" {
  run -0 configured
  [ "$(questions_of built/toy)" = 0 ]
}

@test "another C library starts its programs itself" {
  sed 's/__GLIBC_MINOR__ != 36/__GLIBC_MINOR__ != 0/' "$cmake/static_start.cpp" >static_start.cpp
  run -0 configured
  [[ $output == *'start as the C library has it'* ]]
  [ "$(questions_of built/toy)" != 0 ]
}

@test "a start that leaves something out is not taken" {
  local left_out
  for left_out in '  set_guards();' '  choose_functions();' '  __libc_early_init(true);' \
    '  __libc_init_first(count, words, __environ);' '  __cxa_atexit(finish, nullptr, nullptr);' \
    '  call_all(__init_array_start, __init_array_end, count, words);'; do
    grep -vxF -- "$left_out" "$cmake/static_start.cpp" >static_start.cpp
    [ "$(wc -l <static_start.cpp)" = $(($(wc -l <"$cmake/static_start.cpp") - 1)) ]
    run ! checked -static "$PWD/static_start.cpp"
  done
  run -0 configured
  [[ $output == *'start as the C library has it'* ]]
}
