# SPDX-License-Identifier: Apache-2.0
# The locks of one machine and its users: whose they are, where they lie, who may read them.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }

@test "inspect: what may not be read is 77 with its number, not free" {
  need_root
  open_world
  dlock run a -- true
  dlock run b -- true
  chmod 755 "$locks"
  run -77 nobody dlock inspect
  [[ "$output" == "dlock: 2 locks in local:$locks cannot be read"* ]]
  run -77 nobody dlock inspect --json
  run -77 nobody dlock inspect a
  run -77 nobody dlock inspect 'a*'
  chmod 700 "$locks"
  run -77 nobody dlock inspect
}
