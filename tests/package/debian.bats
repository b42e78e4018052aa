# SPDX-License-Identifier: Apache-2.0
# The Debian packages as Debian's own tools judge them, and what the programs in them are hardened with.
bats_require_minimum_version 1.5.0

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  build=${DLOCK_BUILD:-$root/build/package}
  tree=$BATS_FILE_TMPDIR/tree
  export root build tree
  local file
  for file in "$build"/*.deb; do
    [ -f "$file" ] || { echo "no package: cmake --build --preset package --target package"; return 1; }
    dpkg-deb -x "$file" "$tree"
  done
}

programs() { find "$tree/usr/bin" "$tree/usr/libexec" -type f | LC_ALL=C sort; }
# dlock alone talks to no network, and starts in less time at an address that is fixed (cmd/README.md).
network_programs() { programs | grep -v '/usr/bin/dlock$'; }
module=usr/libexec/dlock/dlock-tls.so

# bats test_tags=all
@test "lintian finds no error and warns of nothing that is not overridden for a reason" {
  run -0 lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$build"/*.deb
  # The line above each override says why.
  for file in "$root"/cmake/lintian-dlock "$root"/backends/*/package/lintian; do
    awk '/^[^#]/ && before !~ /^#/ { print FILENAME ": without a reason: " $0; bad = 1 } { before = $0 } END { exit bad }' "$file"
  done
}

@test "every program that talks to a network is position-independent" {
  [ "$(network_programs | wc -l)" -ge 5 ]
  for program in $(network_programs | grep -v "/$module\$"); do
    run -0 readelf --wide --file-header --dynamic "$program"
    [[ $output == *'Type:'*'DYN (Position-Independent Executable file)'* ]] || { echo "$program: $output"; return 1; }
  done
}

@test "every program binds before it starts and writes to none of that afterwards: full RELRO" {
  for program in $(programs); do
    run -0 readelf --wide --program-headers "$program"
    [[ $output == *GNU_RELRO* ]] || { echo "$program: $output"; return 1; }
    [[ $output != *RWE* ]] || { echo "$program: $output"; return 1; }
  done
  for program in $(network_programs); do
    run -0 readelf --wide --dynamic "$program"
    [[ $output == *FLAGS*NOW* ]] || { echo "$program: $output"; return 1; }
  done
}

@test "our own code looks after its stack and its buffers: stack protector, _FORTIFY_SOURCE" {
  # In the archives, because the C library in a static program has both anyway.
  archives=("$build"/lib/libdlock_lib.a "$build"/cmd/libdlock_cmd.a "$build"/backends/libdlock_backend_*.a)
  [ ${#archives[@]} -ge 6 ]
  for archive in "${archives[@]}"; do
    run -0 nm --undefined-only "$archive"
    [[ $output == *' U __stack_chk_fail'* ]] || { echo "$archive has no function with a stack protector"; return 1; }
  done
  run -0 nm --dynamic --undefined-only "$tree/$module"
  [[ $output == *' U __stack_chk_fail@'* ]]
  # Not each of them calls something that has a checked form.
  run -0 nm --undefined-only "${archives[@]}"
  [[ $output == *' U __'*'_chk'$'\n'* ]]
  [ "$(grep -cE ' U __(read|readlink|recv|poll|snprintf|vsnprintf|memcpy|strncpy|fprintf|fdelt)_chk$' <<<"$output")" -ge 5 ]
}

@test "each package names the sources, with their versions, of what is linked statically into it, and nothing else" {
  declare -A wanted=([dlock]='glibc gcc-[0-9]+ cli11 tomlplusplus nlohmann-json3 sqlite3' [dlock-redis]='glibc gcc-[0-9]+ cli11 tomlplusplus nlohmann-json3 hiredis'
    [dlock-mysql]='glibc gcc-[0-9]+ cli11 tomlplusplus nlohmann-json3 mysql-connector-c\+\+ mariadb'
    [dlock-zookeeper]='glibc gcc-[0-9]+ cli11 tomlplusplus nlohmann-json3 zookeeper')
  for package in "${!wanted[@]}"; do
    field=$(dpkg-deb -f "$build/${package}"_*.deb Static-Built-Using)
    mapfile -t sources <<<"${field//, /$'\n'}"
    # shellcheck disable=SC2206  # a pattern a word
    patterns=(${wanted[$package]})
    [ ${#sources[@]} = ${#patterns[@]} ] || { echo "$package: $field"; return 1; }
    for pattern in "${patterns[@]}"; do
      printf '%s\n' "${sources[@]}" | grep -qE "^$pattern \(= [0-9][^ ]*\)$" || { echo "$package: no $pattern in: $field"; return 1; }
    done
  done
}

@test "the changelog is in Debian's form, and its newest version is that of the package" {
  for file in "$build"/*.deb; do
    zcat "$tree/usr/share/doc/$(dpkg-deb -f "$file" Package)/changelog.Debian.gz" >"$BATS_TEST_TMPDIR/changelog"
    run -0 --separate-stderr dpkg-parsechangelog -l "$BATS_TEST_TMPDIR/changelog"
    [ "$stderr" = "" ]
    [[ $output == *"Source: $(dpkg-deb -f "$file" Source)"* ]]
    [[ $output == *"Version: $(dpkg-deb -f "$file" Version)"* ]]
  done
}

# bats test_tags=all
@test "two builds in different folders give identical packages, and no program knows where it was built" {
  for program in $(programs); do run ! grep --text -e "$root" -e "$build" "$program"; done
  other=$BATS_FILE_TMPDIR/elsewhere/deeper
  mkdir -p "$other"
  tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$other" -xf -
  cd "$other"
  # shellcheck source=scripts/compiler-cache.bash
  . scripts/compiler-cache.bash
  cmake --preset "$(basename "$build")" -DDLOCK_TESTS=OFF -B made/here >"$BATS_TEST_TMPDIR/log" 2>&1 &&
    cmake --build made/here --target package >>"$BATS_TEST_TMPDIR/log" 2>&1 || { tail -n 20 "$BATS_TEST_TMPDIR/log"; return 1; }
  for file in "$build"/*.deb; do cmp "$file" "made/here/$(basename "$file")"; done
}
