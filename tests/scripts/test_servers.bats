# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# How the tests end their servers (tests/support/servers.bash).
bats_require_minimum_version 1.5.0

@test "servers that do not all start are all ended, those that start in the background too, in a folder with a blank" {
  local root where left=
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  mkdir -p "$BATS_TEST_TMPDIR/build/bin" "$BATS_TEST_TMPDIR/the servers"
  printf '#!/bin/sh\nexit 3\n' >"$BATS_TEST_TMPDIR/build/bin/dlock" # no tables can be made
  chmod +x "$BATS_TEST_TMPDIR/build/bin/dlock"
  DLOCK_BUILD=$BATS_TEST_TMPDIR/build run -3 "$root/scripts/start-test-servers" "$BATS_TEST_TMPDIR/the servers"
  [ -s "$BATS_TEST_TMPDIR/the servers/sentinel3/log" ]
  for where in /proc/[0-9]*/cwd; do
    [[ $(readlink "$where") != "$BATS_TEST_TMPDIR/the servers"* ]] || left+=" $where"
  done
  [ -z "$left" ]
}

@test "a server that has ended is gone, also while nobody has waited for it" {
  . "$BATS_TEST_DIRNAME/../support/servers.bash"
  mkdir -p "$servers/one"
  # A parent that does not look at its child's end.
  python3 -c 'import subprocess, time
print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
time.sleep(60)' >"$servers/one/pid" 3>&- &
  local parent=$!
  wait_until test -s "$servers/one/pid"
  run -0 timeout 10 bash -c ". '$BATS_TEST_DIRNAME/../support/servers.bash'; servers=$servers; kill_server one"
  [ "$(process_state "$(pid_of_server one)")" = Z ]
  kill "$parent"
}
