# SPDX-License-Identifier: Apache-2.0
# The Debian packages as Debian's own tools judge them, and what the programs in them are hardened with.
bats_require_minimum_version 1.5.0

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  build=${DLOCK_BUILD:-$root/build/ci}
  packages=${DLOCK_PACKAGES:-$root/build/packages}
  tree=$BATS_FILE_TMPDIR/tree
  export root build packages tree
  local file
  for file in "$packages"/*.deb; do
    [ -f "$file" ] || { echo "no package: scripts/package build/packages"; return 1; }
    dpkg-deb -x "$file" "$tree"
  done
}

programs() { find "$tree/usr/bin" "$tree/usr/libexec" -type f | LC_ALL=C sort; }
module=usr/libexec/dlock/dlock-tls.so

@test "lintian finds no error and warns of nothing that is not overridden for a reason" {
  run -0 lintian --allow-root --display-info --pedantic --fail-on error,warning --tag-display-limit 0 "$packages"/*.changes
  # The line above each override says why.
  for file in "$root"/debian/*.lintian-overrides; do
    awk '/^[^#]/ && before !~ /^#/ { print FILENAME ": without a reason: " $0; bad = 1 } { before = $0 } END { exit bad }' "$file"
  done
}

# bats test_tags=all
@test "lintian finds no error in the source package and warns of nothing" {
  version=$(dpkg-parsechangelog -l "$root/debian/changelog" -S Version)
  source=$BATS_TEST_TMPDIR/dlock-${version%-*}
  mkdir "$source"
  tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$source" -xf -
  cd "$BATS_TEST_TMPDIR"
  tar --exclude="${source##*/}/debian" -czf "dlock_${version%-*}.orig.tar.gz" "${source##*/}"
  (cd "$source" && dpkg-buildpackage -S -us -uc -d) >log 2>&1
  run -0 lintian --allow-root --display-info --pedantic --fail-on error,warning --tag-display-limit 0 ./*_source.changes
}

@test "every program is position-independent" {
  [ "$(programs | wc -l)" -ge 6 ]
  for program in $(programs | grep -v "/$module\$"); do
    run -0 readelf --wide --file-header --dynamic "$program"
    [[ $output == *'Type:'*'DYN (Position-Independent Executable file)'* ]] || { echo "$program: $output"; return 1; }
  done
}

@test "every program binds before it starts and writes to none of that afterwards: full RELRO" {
  for program in $(programs); do
    run -0 readelf --wide --program-headers "$program"
    [[ $output == *GNU_RELRO* ]] || { echo "$program: $output"; return 1; }
    [[ $output != *RWE* ]] || { echo "$program: $output"; return 1; }
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
  declare -A wanted=([dlock]=sqlite3 [dlock-mysql]='mysql-connector-c\+\+')
  for file in "$packages"/*.deb; do
    package=$(dpkg-deb -f "$file" Package)
    field=$(dpkg-deb -f "$file" Static-Built-Using)
    mapfile -t sources <<<"${field//, /$'\n'}"
    # shellcheck disable=SC2206  # a pattern a word
    patterns=(glibc gcc-[0-9]+ cli11 tomlplusplus nlohmann-json3 ${wanted[$package]-})
    [ ${#sources[@]} = ${#patterns[@]} ] || { echo "$package: $field"; return 1; }
    for pattern in "${patterns[@]}"; do
      printf '%s\n' "${sources[@]}" | grep -qE "^$pattern \(= [0-9][^ ]*\)$" || { echo "$package: no $pattern in: $field"; return 1; }
    done
  done
}

@test "each package names what its licence asks to keep the source of: glibc in dlock, which is static, and MySQL's connector" {
  declare -A wanted=([dlock]='glibc' [dlock-mysql]='mysql-connector-c\+\+')
  for file in "$packages"/*.deb; do
    package=$(dpkg-deb -f "$file" Package)
    field=$(dpkg-deb -f "$file" Built-Using)
    if [ "${wanted[$package]-}" ]; then
      [[ $field =~ ^${wanted[$package]}\ \(=\ [0-9][^\ ]*\)$ ]] || { echo "$package: $field"; return 1; }
    else
      [ "$field" = "" ] || { echo "$package: $field"; return 1; }
    fi
    [[ ", $(dpkg-deb -f "$file" Static-Built-Using)," == *", $field"* ]]
  done
}

@test "the changelog is in Debian's form, and packs the newest release of CHANGELOG.md, of its day" {
  for file in "$packages"/*.deb; do
    zcat "$tree/usr/share/doc/$(dpkg-deb -f "$file" Package)/changelog.Debian.gz" >"$BATS_TEST_TMPDIR/changelog"
    run -0 --separate-stderr dpkg-parsechangelog -l "$BATS_TEST_TMPDIR/changelog"
    [ "$stderr" = "" ]
    [[ $output == *"Source: $(dpkg-deb -f "$file" Source)"* ]]
    [[ $output == *"Version: $(dpkg-deb -f "$file" Version)"* ]]
    [[ $output == *"Maintainer: $(dpkg-deb -f "$file" Maintainer)"* ]]
  done
  version=$(dpkg-parsechangelog -l "$root/debian/changelog" -S Version)
  date=$(date --utc -d "@$(dpkg-parsechangelog -l "$root/debian/changelog" -S Timestamp)" +%F)
  [ "$(grep -m 1 '^## [0-9]' "$root/CHANGELOG.md")" = "## ${version%-*} ($date)" ]
}

# The second one has the objects of the first one from the compiler cache; scripts/release compiles it anew.
# bats test_tags=all
@test "two builds in different folders give identical packages, and no program knows where it was built" {
  for program in $(programs); do run ! grep --text -e "$root" -e "$packages" -e dlock-package "$program"; done
  other=$BATS_FILE_TMPDIR/elsewhere/deeper
  mkdir -p "$other"
  tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$other" -xf -
  TMPDIR=$BATS_FILE_TMPDIR "$other/scripts/package" "$other/new/packages"
  for file in "$packages"/*.deb; do cmp "$file" "$other/new/packages/$(basename "$file")"; done
}
