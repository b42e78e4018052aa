# SPDX-License-Identifier: Apache-2.0
# scripts/start-test-servers has an end: who does not come up is named.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return
  export start_patience=4 DLOCK_BUILD=$PWD/build
  mkdir -p scripts tests backends/slow build/bin
  cp "$root"/scripts/{start-test-servers,backends.bash} scripts/
  ln -s "$root/tests/support" tests/support
  printf '%s\n' 'set(dlock_all_backends' '  slow' ')' >backends/CMakeLists.txt
  printf '#!/bin/sh\n' >build/bin/dlock
  chmod +x build/bin/dlock
}

servers_are() { # COMMAND: it starts the only ones
  printf '%s\n' '. tests/support/servers.bash' 'start_slow_servers() {' "$1" '}' 'env_of_slow_servers() { echo "export SLOW=yes"; }' >backends/slow/servers.bash
}

@test "servers that come up are written down" {
  servers_are true
  run -0 scripts/start-test-servers s
  grep SLOW=yes s/env
}

@test "a server that says nothing is named, and ended" {
  # shellcheck disable=SC2016
  servers_are 'mkdir "$servers/one"; : >"$servers/one/log"; (cd "$servers/one"; exec sleep 300 >log) & echo $! >"$servers/one/pid"
    wait_for_log $! "$servers/one/log" ready'
  run -69 timeout 60 scripts/start-test-servers s
  echo "$output"
  [[ $output == *"the server of $PWD/s/one/log does not come up in 4 s"* ]]
  [[ $output == *'the servers of slow have not come up'* ]]
  [ ! -e s/env ]
  for where in /proc/[0-9]*/cwd; do [[ $(readlink "$where") != "$PWD/s"* ]]; done
}

@test "what hangs beside the servers is ended, too" {
  servers_are 'sleep 300'
  run -69 timeout 60 scripts/start-test-servers s
  [[ $output == *'the servers of slow are not ready after '* ]]
  [ ! -e s/env ]
}
