# SPDX-License-Identifier: Apache-2.0
# The same thing has the same name in every backend: the table of backends/README.md holds, and a file that is renamed breaks it.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

# Prints what does not hold in the tree $1: a unit that is not where the table says, one that the table does not know of,
# a backend without a column, a port that is implemented in another file than its own.
broken() {
  cd "$1/backends" || return
  awk -F ' *[|] *' '
    /^[|] what [|] unit [|]/ { for (i = 4; i < NF; i++) name[i] = $i; columns = NF; next }
    /^[|]---/ { next }
    columns && !/^[|]/ { exit }
    columns {
      gsub(/`/, "", $3)
      for (i = 4; i < columns; i++) {
        if ($i == "") print "empty", name[i], $3
        while (match($i, /`[a-z.]+`/)) { print "unit", name[i], $3, substr($i, RSTART + 1, RLENGTH - 2); $i = substr($i, RSTART + RLENGTH) }
        print "column", name[i], $3
      }
    }' README.md >"$BATS_TEST_TMPDIR/table"
  grep '^empty' "$BATS_TEST_TMPDIR/table"
  grep -q '^unit' "$BATS_TEST_TMPDIR/table" || echo 'no table'
  local house
  for house in */; do
    grep -q "^column ${house%/} " "$BATS_TEST_TMPDIR/table" || echo "${house%/} has no column"
  done
  find . -name '*.cpp' -printf '%P\n' | awk '
    NR == FNR { if ($1 == "unit") listed[$2 "/" ($4 == "." ? "" : $4 "/") $3 ".cpp"]; known[$3]; next }
    { there[$0]; unit = $0; sub(/.*\//, "", unit); sub(/\.cpp$/, "", unit) }
    $0 ~ /\// && unit in known && !($0 in listed) { print $0 " is not in the table" }
    END { for (file in listed) if (!(file in there)) print file " is missing" }' "$BATS_TEST_TMPDIR/table" -
  grep -rnE 'public (LockDriver|PollableLock|LockSession|LayoutLock)\b' --exclude-dir=rows . |
    grep -vE '^[^:]*/lock\.(h|cpp):'
  grep -rnE 'public (LockAdmin|LayoutAdmin|MysqlAdmin)\b' . | grep -vE '^[^:]*/admin\.(h|cpp):'
  return 0
}

# What the folder NAME of a backend in the tree $1 lacks, a line each; cmake/backends.cmake says what for.
lacking() { # TREE NAME
  local folder=$1/backends/$2 file
  for file in README.md backend.cmake url.h conformance.txt backend.h backend.cpp; do [ -e "$folder/$file" ] || echo "$file"; done
  grep -q '^# Rooms: ' "$folder/backend.cmake" 2>/dev/null || echo 'its rooms in backend.cmake'
  grep -q '^lock *|' "$folder/conformance.txt" 2>/dev/null || echo 'a store for locks in conformance.txt'
  grep -qx "  $2" "$1/backends/CMakeLists.txt" || echo 'a line in backends/CMakeLists.txt'
  if ! grep -q "^dlock_add_backend($2)" "$folder/backend.cmake" 2>/dev/null; then
    [ -e "$folder/servers.bash" ] || echo servers.bash
    grep -q '^url *|' "$folder/conformance.txt" 2>/dev/null || echo 'its URLs in conformance.txt'
    ! grep -q '^dlock_add_keeper(.* STOCK' "$folder/backend.cmake" 2>/dev/null || for file in stock sealed; do
      grep -q "^$file *|" "$folder/conformance.txt" || echo "a $file store in conformance.txt"
    done
    grep -q "^begin_with_$2()" "$root/tests/support/$2.bash" 2>/dev/null || echo "begin_with_$2 in tests/support/$2.bash"
    for file in "tests/faults/$2.bats" "tests/bench/$2.bash"; do [ -e "$root/$file" ] || echo "$file"; done
    for file in README.md man/dlock.1.scd man/dlock.7.scd tests/docs/man_examples.bats tests/package/package.bats; do
      grep -q "\bdlock-$2\b" "$root/$file" || echo "dlock-$2 in $file"
    done
    grep -qx "Package: dlock-$2" "$root/debian/control" || echo "a stanza dlock-$2 in debian/control"
    [ -e "$root/debian/dlock-$2.lintian-overrides" ] || echo "debian/dlock-$2.lintian-overrides"
    grep -q "^Suggests: .*\bdlock-$2\b" "$root/debian/control" || echo 'its name in Suggests of debian/control'
    [ -e "$root/man/dlock-$2.7.scd" ] || echo "man/dlock-$2.7.scd"
  fi
}

@test "a folder of a backend has all that belongs to it, and what it lacks is named" {
  local house
  for house in "$root"/backends/*/; do
    run -0 lacking "$root" "$(basename "$house")"
    echo "$house: $output"
    [ -z "$output" ]
  done
  copy
  mkdir "$tree/backends/toy"
  run -0 lacking "$tree" toy
  [ "${#lines[@]}" = 23 ]
}

copy() {
  tree=$BATS_TEST_TMPDIR/tree
  rm -rf "$tree"
  mkdir "$tree"
  cp -r "$root/backends" "$tree/"
}

@test "each unit lies under its name in every backend, or is listed as having none" {
  run -0 broken "$root"
  echo "$output"
  [ -z "$output" ]
}

@test "a unit that is renamed, misplaced, doubled or left out is found" {
  local change
  while read -r expected change; do
    copy
    (cd "$tree/backends" && eval "$change")
    run -0 broken "$tree"
    echo "$change: $output"
    [[ $output == *"$expected"* ]]
  done <<'END'
local/lock.cpp mv local/lock.cpp local/look.cpp
mysql/bound/lock.cpp mv mysql/bound/lock.cpp mysql/bound/pinned_lock.cpp
redis/native/admin.cpp mv redis/native/admin.cpp redis/native/commands.cpp
redis/rows/store.cpp cp mysql/bound/store.cpp redis/rows/store.cpp
toy mkdir toy
zookeeper sed -i 's/^\(| fit for it?.*\)| `\.` | `connection` |$/\1| | `connection` |/' README.md
END
}

@test "a port that is implemented outside its file is found" {
  copy
  echo 'class X final : public LockDriver {' >>"$tree/backends/mysql/bound/store.h"
  echo 'class Y final : public LockAdmin {' >>"$tree/backends/redis/quorum/doctor.cpp"
  run -0 broken "$tree"
  [[ $output == *mysql/bound/store.h* ]]
  [[ $output == *redis/quorum/doctor.cpp* ]]
}
