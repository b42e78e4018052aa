# SPDX-License-Identifier: Apache-2.0
# The Debian packages as an administrator meets them: installed, used, removed. Needs root, since dpkg does.
bats_require_minimum_version 1.5.0

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  build=${DLOCK_BUILD:-$root/build/package}
  package=$(find "$build" -maxdepth 1 -name 'dlock_*.deb' | head -n 1)
  redis_package=$(find "$build" -maxdepth 1 -name 'dlock-redis_*.deb' | head -n 1)
  export root build package redis_package
}

setup() {
  unset "${!DLOCK_@}"
  for file in "$package" "$redis_package"; do
    [ -f "$file" ] || { echo "no package: cmake --build --preset package --target package"; return 1; }
  done
}

teardown() {
  if [ "${installed-}" ]; then dpkg --purge dlock-redis dlock; fi
}

files_of() { dpkg-deb -c "$1" | grep -v '/$' | sed 's#.* \./##' | LC_ALL=C sort; }

# Unpacks the packages where nothing else is; `tree` is then their root.
unpack() { # PACKAGE...
  local file
  tree=$BATS_TEST_TMPDIR/tree
  for file in "$@"; do dpkg-deb -x "$file" "$tree"; done
}

@test "the package is named as Debian names it and depends on nothing" {
  [ "$(basename "$package")" = "dlock_$(dpkg-deb -f "$package" Version)_$(dpkg --print-architecture).deb" ]
  [ "$(dpkg-deb -f "$package" Package)" = dlock ]
  [ -z "$(dpkg-deb -f "$package" Depends)" ]
  unpack "$package"
  run ldd "$tree/usr/bin/dlock"
  [[ $output == *"not a dynamic executable"* || $output == *"statically linked"* ]]
}

@test "the package has the program, its pages, its completions and its papers, and nothing else" {
  [ "$(files_of "$package" | grep -v ^usr/share/doc/dlock/examples/)" = "usr/bin/dlock
usr/libexec/dlock/dlock-local
usr/share/bash-completion/completions/dlock
usr/share/doc/dlock/changelog.gz
usr/share/doc/dlock/copyright
usr/share/fish/vendor_completions.d/dlock.fish
usr/share/man/man1/dlock-stock.1.gz
usr/share/man/man1/dlock.1.gz
usr/share/man/man5/dlock.toml.5.gz
usr/share/man/man7/dlock.7.gz
usr/share/zsh/vendor-completions/_dlock" ]
}

@test "dlock-redis has the keeper program, its page and its papers, and nothing else" {
  [ "$(files_of "$redis_package")" = "usr/libexec/dlock/dlock-redis
usr/share/doc/dlock-redis/changelog.gz
usr/share/doc/dlock-redis/copyright
usr/share/man/man7/dlock-redis.7.gz" ]
  [ "$(basename "$redis_package")" = "dlock-redis_$(dpkg-deb -f "$package" Version)_$(dpkg --print-architecture).deb" ]
  run -0 dpkg-deb -I "$redis_package"
  [[ $output == *"Package: dlock-redis"* ]]
  [[ $output == *"Description: run a command under a lock kept in Redis"* ]]
}

@test "dlock-redis depends on the dlock of its version and on the libraries that it loads" {
  depends=$(dpkg-deb -f "$redis_package" Depends)
  [[ ", $depends," == *", dlock (= $(dpkg-deb -f "$package" Version)),"* ]]
  unpack "$redis_package"
  for library in $(objdump -p "$tree/usr/libexec/dlock/dlock-redis" | sed -nE 's/^ *NEEDED +//p'); do
    # The package of a library by the file; /lib is a link to /usr/lib.
    path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
    owner=$(dpkg-query -S "$path" "/usr$path" 2>/dev/null | sed -n '1s/:.*//p')
    [ "$owner" ] || { echo "no package has $library"; return 1; }
    [[ ", $depends" == *", $owner ("* ]] || { echo "$library is of $owner, and Depends has: $depends"; return 1; }
  done
  # What can be linked statically is.
  [[ $depends != *hiredis* && $depends != *stdc++* ]]
}

@test "everything in the packages belongs to root and is writable by root alone" {
  for file in "$package" "$redis_package"; do
    run bash -c 'dpkg-deb -c "$1" | grep -vE "^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) root/root "' sh "$file"
    [ "$output" = "" ]
  done
}

@test "packing the same build again gives the same bytes" {
  cpack --config "$build/CPackConfig.cmake" -B "$BATS_TEST_TMPDIR" >/dev/null
  for file in "$package" "$redis_package"; do cmp "$file" "$BATS_TEST_TMPDIR/$(basename "$file")"; done
}

@test "without its package the Redis backend is not installed, which is said before anything runs" {
  unpack "$package"
  # In a place of its own the program has no other libexec than that of the system.
  [ ! -e /usr/libexec/dlock/dlock-redis ] || skip "another dlock-redis is installed"
  for command in "run k -- touch $BATS_TEST_TMPDIR/ran" "inspect k"; do
    # shellcheck disable=SC2086  # words
    run -78 "$tree/usr/bin/dlock" ${command/ / -b redis://127.0.0.1:1 }
    [[ $output == *"backend 'redis' is not installed"* ]]
    [[ $output == *"apt install dlock-redis"* ]]
  done
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "unpacked side by side, dlock finds the keeper program and says what the server does" {
  unpack "$package" "$redis_package"
  # Nobody listens at port 1: unreachable is an answer of the keeper program, not of its absence.
  for command in "run --wait 1s k -- touch $BATS_TEST_TMPDIR/ran" "inspect --connect-timeout 1s k"; do
    # shellcheck disable=SC2086  # words
    run -69 "$tree/usr/bin/dlock" ${command/ / -b redis://127.0.0.1:1 }
    [[ $output == *"127.0.0.1:1"* ]]
  done
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "a tree installed by cmake has the keeper program where dlock looks" {
  DESTDIR=$BATS_TEST_TMPDIR/stage cmake --install "$build" >/dev/null
  run -69 "$BATS_TEST_TMPDIR/stage/usr/bin/dlock" run -b redis://127.0.0.1:1 --wait 1s k -- true
  [[ $output == *"127.0.0.1:1"* ]]
}

@test "installed, it runs a command under a lock, and removed it is gone" {
  [ "$(id -u)" = 0 ] || skip "dpkg needs root"
  [ ! -e /usr/bin/dlock ] || skip "another dlock is installed in /usr/bin"
  installed=yes
  dpkg -i "$package"
  [ "$(/usr/bin/dlock run -b "local:$BATS_TEST_TMPDIR/locks" works -- sh -c 'echo "$DLOCK_KEY"')" = works ]
  [[ "$(/usr/bin/dlock --version)" == *"$(dpkg-deb -f "$package" Version)"* ]]
  dpkg --verify dlock
  if command -v man >/dev/null; then man -w 1 dlock; fi
  bash -c 'source /usr/share/bash-completion/completions/dlock && complete -p dlock'
  dpkg -i "$redis_package"
  dpkg --verify dlock-redis
  run -69 /usr/bin/dlock run -b redis://127.0.0.1:1 --wait 1s k -- true
  dpkg --purge dlock-redis
  run -78 /usr/bin/dlock run -b redis://127.0.0.1:1 --wait 1s k -- true
  [[ $output == *"apt install dlock-redis"* ]]
  dpkg --purge dlock
  installed=
  [ ! -e /usr/bin/dlock ]
  run dpkg-query -W -f='${db:Status-Status}' dlock
  [ "$output" != installed ]
}
