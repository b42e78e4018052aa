# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# scripts/fresh-machine where it cannot work: one line, before anything is made. What it does where it can is seen by a run of it.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  bin=$BATS_TEST_TMPDIR/bin
  mkdir "$bin" "$BATS_TEST_TMPDIR/base"
  export TMPDIR=$BATS_TEST_TMPDIR/base
  program id 'echo 0'
  program debootstrap "mkdir -p \"\$3\"; echo E: no such server >&2; exit 1"
}

program() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

fresh_machine() { PATH=$bin:$PATH run "$root/scripts/fresh-machine" "$@"; }

answered() { # STATUS PART...
  [ "$status" = "$1" ]
  local part
  for part in "${@:2}"; do [[ ${lines[-1]} == "fresh-machine: "*"$part"* ]]; done
  [ -z "$(ls -A "$TMPDIR")" ]
}

@test "a release that it does not know is named" {
  fresh_machine buster
  answered 64 "no release 'buster'" "bookworm or trixie"
}

@test "without root the command for root is shown" {
  program id 'echo 1000'
  fresh_machine trixie
  answered 77 "needs root" "sudo scripts/fresh-machine trixie"
}

@test "too little room is said, with what there is" {
  program df 'printf "Avail\n 3\n"'
  fresh_machine trixie
  answered 71 "has 3 GB free" "TMPDIR="
}

@test "a debootstrap that fails is a failure, and leaves nothing" {
  program df 'printf "Avail\n 30\n"'
  program unshare 'while [ "$1" != env ]; do shift; done; exec "$@"'
  fresh_machine trixie true
  [[ $output == *"E: no such server"* ]]
  answered 69 "debootstrap failed"
}
