# SPDX-License-Identifier: Apache-2.0
# The Debian package as an administrator meets it: installed, used, removed. Needs root, since dpkg does.
bats_require_minimum_version 1.5.0

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  build=${DLOCK_BUILD:-$root/build/package}
  package=$(find "$build" -maxdepth 1 -name 'dlock_*.deb' | head -n 1)
  export root build package
}

setup() {
  unset "${!DLOCK_@}"
  [ -f "$package" ] || { echo "no package: cmake --build --preset package --target package"; return 1; }
}

teardown() {
  if [ "${installed-}" ]; then dpkg --purge dlock; fi
}

@test "the package is named as Debian names it and depends on nothing" {
  [ "$(basename "$package")" = "dlock_$(dpkg-deb -f "$package" Version)_$(dpkg --print-architecture).deb" ]
  [ "$(dpkg-deb -f "$package" Package)" = dlock ]
  [ -z "$(dpkg-deb -f "$package" Depends)" ]
  dpkg-deb -x "$package" "$BATS_TEST_TMPDIR/tree"
  run ldd "$BATS_TEST_TMPDIR/tree/usr/bin/dlock"
  [[ $output == *"not a dynamic executable"* || $output == *"statically linked"* ]]
}

@test "the package has the program, its pages, its completions and its papers, and nothing else" {
  run -0 bash -c 'dpkg-deb -c "$package" | grep -v /$ | sed "s#.* \./##" | grep -v ^usr/share/doc/dlock/examples/ | LC_ALL=C sort'
  [ "$output" = "usr/bin/dlock
usr/share/bash-completion/completions/dlock
usr/share/doc/dlock/changelog.gz
usr/share/doc/dlock/copyright
usr/share/fish/vendor_completions.d/dlock.fish
usr/share/man/man1/dlock.1.gz
usr/share/man/man5/dlock.toml.5.gz
usr/share/man/man7/dlock.7.gz
usr/share/zsh/vendor-completions/_dlock" ]
}

@test "everything in the package belongs to root and is writable by root alone" {
  run bash -c 'dpkg-deb -c "$package" | grep -vE "^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) root/root "'
  [ "$output" = "" ]
}

@test "packing the same build again gives the same bytes" {
  cpack --config "$build/CPackConfig.cmake" -B "$BATS_TEST_TMPDIR" >/dev/null
  cmp "$package" "$BATS_TEST_TMPDIR/$(basename "$package")"
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
  dpkg --purge dlock
  installed=
  [ ! -e /usr/bin/dlock ]
  run dpkg-query -W -f='${db:Status-Status}' dlock
  [ "$output" != installed ]
}
