# SPDX-License-Identifier: Apache-2.0
# What runs first lies side by side: cmake/start_order.cpp, on a program of its own and on those that were built.
bats_require_minimum_version 1.5.0

setup() {
  build=${DLOCK_BUILD:-$(realpath "$BATS_TEST_DIRNAME/../../build/ci")}
  start_order=$build/cmd/start_order
  cd "$BATS_TEST_TMPDIR" || return
  [ -x "$start_order" ] || skip 'programs are linked in the order of the linker here (cmake/start_order.cmake)'
}

# toy [LINK-OPTION...]: it calls `called`, and with an argument `asked_for`.
toy() {
  cat >toy.cpp <<'CODE'
[[gnu::noinline]] int called(int n) { asm volatile(""); return n - 1; }
[[gnu::noinline]] int asked_for(int n) { asm volatile(""); return n - 2; }
int main(int count, char**) { return count > 1 ? asked_for(count) : called(count); }
CODE
  c++ -Os -ffunction-sections -fPIE -c toy.cpp
  c++ toy.o -Wl,-Map=toy.map -o toy "$@"
}
section_of() { # PROGRAM FUNCTION
  objdump -t "$1" | awk -v name="$2" '$NF == name { for (i = 1; i < NF; i++) if ($i ~ /^\./) { print $i; exit } }'
}

@test "the script names what has run and nothing else, whether the program lies at a fixed address or not" {
  local options
  for options in -static -pie; do
    toy $options
    run -0 "$start_order" "$PWD/toy" -- ./toy
    grep -q '_Z6calledi)' toy.ld
    run ! grep '_Z9asked_fori' toy.ld
    toy $options -Wl,-T,toy.ld
    run -0 ./toy
    [ "$(section_of toy _Z6calledi)" = .text.first ]
    [ "$(section_of toy _Z9asked_fori)" = .text ]
  done
}

@test "what the command starts counts too, and twice the same gives the same script" {
  toy -static
  "$start_order" "$PWD/toy" -- sh -c './toy; ./toy more; true' >/dev/null
  grep -q '_Z6calledi)' toy.ld
  grep -q '_Z9asked_fori)' toy.ld
  mv toy.ld once
  "$start_order" "$PWD/toy" -- sh -c './toy more & ./toy; wait' >/dev/null
  cmp once toy.ld
}

@test "what a file names comes before what has run" {
  toy -static
  printf '# a comment\n_Z9asked*\n' >held
  run -0 "$start_order" --held "$PWD/held" "$PWD/toy" -- ./toy
  grep -qxF '    *(.text._Z9asked*)' <(sed -n 5p toy.ld)
  grep -q '_Z6calledi)' toy.ld
  run ! grep comment toy.ld
  toy -static -Wl,-T,toy.ld
  run -0 ./toy
  [ "$(section_of toy _Z9asked_fori)" = .text.first ]
}

@test "what the linker leaves out is not named" {
  echo 'void left_out() { asm volatile(".skip 65536"); }' >more.cpp
  c++ -Os -ffunction-sections -fPIE -c more.cpp
  toy -pie -Wl,--gc-sections more.o
  grep -q _Z8left_out toy.map
  run -0 "$start_order" "$PWD/toy" -- ./toy
  run ! grep left_out toy.ld
}

@test "a program that has not run links as it would without" {
  toy -static
  run -0 "$start_order" "$PWD/toy" -- true
  [[ $output == *": 0 of "* ]]
  toy -static -Wl,-T,toy.ld
  run -0 ./toy
  [ "$(section_of toy _Z6calledi)" = .text ]
}

@test "what is no program is an error" {
  echo text >text
  run -1 "$start_order" "$PWD/text" -- true
  [[ $output == *'text is no program'* ]]
  run -64 "$start_order" "$PWD/text"
  run -64 "$start_order" --held
}

@test "of a keeper, what it runs while it holds a lock lies first, and the list of that names functions of today" {
  local keeper function known=0 all=0
  for keeper in direct/dlock-redis plain/dlock-mysql dlock-zookeeper; do
    nm "$build/libexec/dlock/$keeper" | awk '{ print $3 }' >>functions
    [ "$(section_of "$build/libexec/dlock/$keeper" _ZN5dlock7Keeping4holdEv)" = .text.first ]
  done
  while read -r function; do
    all=$((all + 1))
    if grep -q "^${function//\*/.*}" functions; then known=$((known + 1)); fi
  done < <(grep '^_ZNK*5dlock' "$BATS_TEST_DIRNAME/../../cmake/while_held.txt")
  echo "$known of $all are functions; otherwise run scripts/while-held"
  [ "$all" -gt 50 ]
  [ $((known * 10)) -ge $((all * 9)) ]
}

@test "of dlock and a direct keeper a tenth of the code lies first, with what each run of theirs needs" {
  local program
  for program in bin/dlock libexec/dlock/direct/dlock-redis; do
    [ -e "$build/$program" ]
    run -0 objdump -h -j .text.first "$build/$program"
    [[ $output == *.text.first* ]]
    [ "$(section_of "$build/$program" main)" = .text.first ]
  done
  [ "$(section_of "$build/bin/dlock" _ZN5dlock11run_programEiPPc)" = .text.first ]
}
