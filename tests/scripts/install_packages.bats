# SPDX-License-Identifier: Apache-2.0
# scripts/install-packages on machines that cannot do what it wants: one line says what is missing and what to do, and what
# is installed by halves is not taken for installed. dpkg and apt-get are stand-ins.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  bin=$BATS_TEST_TMPDIR/bin
  calls=$BATS_TEST_TMPDIR/calls
  mkdir "$bin"
  : >"$calls"
  printf 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n' >"$BATS_TEST_TMPDIR/os-release"
  export DLOCK_OS_RELEASE=$BATS_TEST_TMPDIR/os-release
  program id 'echo 0'
  program dpkg-query 'echo not-installed'
  program sudo 'exit 1'
}

program() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

apt_says() { program apt-get "echo \"\$*\" >>'$calls'; echo $(printf %q "$1") >&2; exit 100"; }

install_packages() { PATH=$bin:$PATH run "$root/scripts/install-packages" "$@"; }

# The last line is the answer, and the only one of install-packages itself.
answered() { # STATUS PART...
  [ "$status" = "$1" ]
  [ "$(grep -c '^install-packages: ' <<<"$output")" = 1 ]
  local part
  for part in "${@:2}"; do [[ ${lines[-1]} == "install-packages: "*"$part"* ]]; done
}

@test "no network: that is said, with what apt-get says" {
  apt_says "E: Failed to fetch http://deb.example/x  Temporary failure resolving 'deb.example'"
  install_packages build
  answered 69 "no network" "Temporary failure resolving 'deb.example'" "sources.list"
}

# bats test_tags=all
@test "a package that no source has is named" {
  apt_says 'E: Unable to locate package scdoc'
  install_packages build
  answered 69 "no package source has scdoc" "'main'"
}

# bats test_tags=all
@test "no root and no sudo: the command for root is shown" {
  program id 'echo 1000'
  apt_says 'never called'
  rm "$bin/sudo"
  local tool
  for tool in bash dirname awk sed env; do ln -s "$(command -v "$tool")" "$bin/$tool"; done
  PATH=$bin run "$root/scripts/install-packages" docs
  answered 77 "needs root" "apt-get install mandoc"
  [ ! -s "$calls" ]
}

# bats test_tags=all
@test "an unsupported release is named, and nothing is tried" {
  apt_says 'never called'
  printf 'PRETTY_NAME="Debian GNU/Linux 11 (bullseye)"\nID=debian\nVERSION_ID="11"\n' >"$DLOCK_OS_RELEASE"
  install_packages build
  answered 69 "Debian GNU/Linux 11 (bullseye) is not supported" "Debian 12 or 13" "packages.txt"
  [ ! -s "$calls" ]
}

# bats test_tags=all
@test "a package of which only a half is there is installed again, even when its command exists" {
  local state
  for state in unpacked half-configured half-installed; do
    program dpkg-query "case \${*: -1} in npm) echo $state ;; *) echo installed ;; esac"
    program npm 'exit 0'
    apt_says 'never mind'
    install_packages test
    [ "${lines[0]}" = "installing: npm" ]
  done
}

# bats test_tags=all
@test "an installation that says it has worked, and has not, is a failure" {
  program apt-get "echo \"\$*\" >>'$calls'; exit 0"
  install_packages docs
  answered 69 "apt-get install mandoc"
}

@test "when everything is there, nobody is asked" {
  program dpkg-query 'echo installed'
  apt_says 'never called'
  install_packages build test docs
  [ "$status" = 0 ]
  [ "$output" = "" ]
  [ ! -s "$calls" ]
}

# bats test_tags=all
@test "quickstart says that the disk is full" {
  local tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/scripts"
  cp "$root"/scripts/{quickstart,install-packages,packages.txt,compiler-cache.bash} "$tree/scripts"
  program dpkg-query 'echo installed'
  program cmake 'echo "ninja: error: x.o: No space left on device"; exit 1'
  PATH=$bin:$PATH run "$tree/scripts/quickstart"
  [ "$status" = 71 ]
  [[ ${lines[-1]} == "quickstart: the disk is full: make room"* ]]
}

@test "quickstart shows dlock at work whatever the user's own configuration says" {
  local tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/scripts" "$tree/build/release/bin" "$BATS_TEST_TMPDIR/home/.config/dlock"
  cp "$root"/scripts/{quickstart,install-packages,packages.txt,compiler-cache.bash} "$tree/scripts"
  ln -s "${DLOCK_BUILD:-$root/build/ci}/bin/dlock" "$tree/build/release/bin/dlock"
  printf '[defaults]\nwait = 0\nconflict-exit-code = 3\n' >"$BATS_TEST_TMPDIR/home/.config/dlock/config.toml"
  program dpkg-query 'echo installed'
  program cmake 'exit 0'
  HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME='' PATH=$bin:$PATH run "$tree/scripts/quickstart"
  [ "$status" = 0 ]
  [[ "$output" == *'(exit status 75)'*'my turn'* ]]
}
