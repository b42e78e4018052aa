# SPDX-License-Identifier: Apache-2.0
# Several hosts in one URL: a primary and its replica, who change places. The lock is a row, and the row is where the writable
# server is: a holder goes on when its row came along, and ends its command when it did not.
load ../support/cli
load ../support/mysql

setup() {
  set_world
  script_section
  start_mysql one --server-id=1 --log-bin=log --binlog-format=ROW --log-slave-updates --gtid-strict-mode
  start_mysql two --server-id=2 --log-bin=log --binlog-format=ROW --log-slave-updates --gtid-strict-mode --read-only
  replicate two one
  dlock setup -b "$(mysql_url one owner)" >/dev/null
  wait_until has_row two "SHOW TABLES IN locks LIKE 'dlock%'"
  both=mysql://app@127.0.0.1:$(port_of one),127.0.0.1:$(port_of two)/locks
  use "$both"
}
teardown() { end_world; }

replicate() { # REPLICA PRIMARY
  sql "$1" "CHANGE MASTER TO master_host = '127.0.0.1', master_port = $(port_of "$2"), master_user = 'root',
    master_use_gtid = slave_pos, master_connect_retry = 1; START SLAVE"
}
has_row() { [ "$(sql "$1" "$2")" ]; } # NAME QUERY
position() { sql "$1" 'SELECT @@gtid_binlog_pos'; }
followed() { [ "$(sql "$1" "SELECT MASTER_GTID_WAIT('$2', 0.1)")" = 0 ]; } # REPLICA POSITION: it is there, or further on

# OLD is relieved by NEW, as an administrator does it: nothing is lost.
switch_over() { # OLD NEW: at $at
  sql "$1" 'SET GLOBAL read_only = ON'
  at=$(position "$1")
  wait_until followed "$2" "$at"
  sql "$2" 'STOP SLAVE; SET GLOBAL read_only = OFF'
}

# bats test_tags=all
@test "the writable one is found, wherever it stands in the URL; if it is down, or none is writable, 69 names each reason" {
  run -0 dlock run -n k -- true
  run -0 dlock run -n -b "mysql://app@127.0.0.1:$(port_of two),127.0.0.1:$(port_of one)/locks" k -- true
  run -0 dlock run -n -b "mysql://app@127.0.0.1:1,127.0.0.1:$(port_of one)/locks" k -- true
  sql one 'SET GLOBAL read_only = ON'
  run -69 dlock run -n k -- touch ran
  [[ "$output" == *"$(port_of one)"* && "$output" == *"$(port_of two)"* && "$output" == *read*only* ]]
  kill_server one
  run -69 dlock run -n --connect-timeout 1s k -- touch ran
  [[ "$output" == *"$(port_of one)"* && "$output" == *"$(port_of two)"* ]]
  [ ! -e ran ]
}

@test "doctor of a primary with its replica is ok, in whatever order: changes are tried where they are to be made" {
  run -0 dlock doctor
  [[ "$output" == *"$(port_of two): is read-only, a replica"* && "$output" != *fail* ]]
  run -0 dlock doctor -b "mysql://app@127.0.0.1:$(port_of two),127.0.0.1:$(port_of one)/locks"
  run -69 dlock doctor -b "$(mysql_url two)"
}

# bats test_tags=all
@test "a server whose InnoDB is read-only, whatever its read_only, is not the writable one" {
  kill_server two TERM
  printf '%s\0' --innodb-read-only --read-only=OFF --skip-slave-start --skip-log-bin >>"$servers/two/options"
  launch_mysql two
  run -69 dlock run -n -b "$(mysql_url two)" k -- touch ran
  [[ "$output" == *" is read-only"*"name the primary"* ]]
  [ ! -e ran ]
  run -0 dlock run -n -b "mysql://app@127.0.0.1:$(port_of two),127.0.0.1:$(port_of one)/locks" k -- true
}

@test "a switch-over under a holder and a waiter: the lease goes on, the waiter is served on the new one" {
  start_watched a dlock run --ttl 4s k -- section --for 5
  wait_until begun 1
  wait_section b
  switch_over one two
  run -75 dlock run -q -n k -- true
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  run -0 dlock run -n k -- section
  history check --sections 3
}

# bats test_tags=all
@test "the primary is SIGKILLed and the replica takes its place with all it had: the lease goes on" {
  start_watched a dlock run --ttl 4s k -- section --for 4
  wait_until begun 1
  wait_section b
  wait_until followed two "$(position one)"
  kill_server one
  sql two 'STOP SLAVE; SET GLOBAL read_only = OFF'
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

# root may write where read_only is set; app may not.
switch_over_of_root() { # STRATEGY
  use "${both/app@/root@}?strategy=$1"
  start_watched a dlock run --ttl $((4 * slowness))s k -- section --for $((8 * slowness))
  wait_until begun 1
  switch_over one two
  start_watched b dlock run -q k -- section
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  [ "$(sql one 'SELECT @@gtid_binlog_pos')" = "$at" ]
}
# bats test_tags=all
@test "lease: an account that read_only does not bind goes along with a switch-over" { switch_over_of_root lease; }

# bats test_tags=all
@test "a stock: an account that read_only does not bind goes along with a switch-over, and sells nothing where it was" {
  use "${both/app@/root@}"
  dlock stock create phone --quantity 10 --segments 2
  mkfifo in
  start_watched end bash -c 'exec dlock stock batch phone <in >out 2>err'
  exec {batch}>in
  echo 'take a' >&"$batch"
  wait_until lines_in out 1
  switch_over one two
  echo 'take b' >&"$batch"
  echo 'take b' >&"$batch" # what a batch has to ask again, after an answer that says so
  exec {batch}>&-
  how_ended end
  [ "$(sql one 'SELECT @@gtid_binlog_pos')" = "$at" ]
  grep -E '^b (ok|repeated)' out
  [ "$(dlock stock show --json phone | "$programs/json_part" /taken)" = 2 ]
}

# What asynchronous replication can lose, the manual tells. The holder hears it at its next renewal.
# bats test_tags=all
@test "a failover that lost the row: the holder is told at its next renewal, 79" {
  sql two 'STOP SLAVE'
  start_watched a dlock run --ttl 3s k -- section --for 30
  wait_until begun 1
  kill_server one
  sql two 'SET GLOBAL read_only = OFF'
  [ "$(how_ended a)" = "exit 79" ]
  run -0 dlock run -n k -- section
}

# bats test_tags=all
@test "no switch-over comes: the command is ended before its lease is, 79, and the replica is never written to" {
  start_watched a dlock run --ttl 2s k -- section --for 30
  wait_until begun 1
  kill_server one
  [ "$(how_ended a)" = "exit 79" ]
  run -69 dlock run -n --connect-timeout 500ms k -- touch ran
  [ ! -e ran ]
}

connection_lock() { # STRATEGY
  use "$both?strategy=$1"
  start_watched a dlock run --ttl 20s --kill-after 500ms k -- section --for 30
  wait_until begun 1
  wait_until followed two "$(position one)"
  kill_server one
  sql two 'STOP SLAVE; SET GLOBAL read_only = OFF'
  [ "$(how_ended a)" = "exit 79" ]
  run -0 dlock run -q -w 10 k -- section
  history check --sections 2
}
# bats test_tags=all
@test "session: the server that held it is gone: 79, whatever the other one says" { connection_lock session; }

# It stays up, with the connection that holds the lock: only a ping can tell. Until then others may have it on the new one.
relieved() { # STRATEGY
  use "$both?strategy=$1"
  start_watched a dlock run --ttl $((6 * slowness))s --kill-after 500ms k -- section --for 300 2>said
  wait_until begun 1
  switch_over one two
  [ "$(how_ended a)" = "exit 79" ]
  grep -q 'has become read-only' said
  run -0 dlock run -q -w 10 k -- section
}
# bats test_tags=all
@test "session: the server that held it is read-only, and another one is not: 79 at the next ping" { relieved session; }

# NAME is the address "primary" from now on, for new connections.
name_is() { port_of "$1" >"$servers/primary/target"; } # NAME
start_name() { # NAME
  mkdir -p "$servers/primary"
  name_is "$1"
  python3 -S -E "$BATS_TEST_DIRNAME/../support/one_name.py" "$servers/primary" 3>&- &
  started+=("$!")
  disown "$!"
  wait_until filled "$servers/primary/port"
}
# The old primary stays up and read-only, and so do the connections to it.
behind_one_name() { # USER STRATEGY
  start_name one
  use "$(mysql_url primary "$1")?strategy=$2"
  start_watched a dlock run --ttl $((4 * slowness))s k -- section --for $((8 * slowness))
  wait_until begun 1
  start_watched b dlock run -q --ttl 2s k -- section
  [ "$2" != lease ] || wait_until has 1 waiters k
  switch_over one two
  name_is two
  run -75 dlock run -q -n k -- true
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}
# bats test_tags=all
@test "lease: the name of the primary moves to another server: holder and waiter go along" { behind_one_name app lease; }

# bats test_tags=all
@test "session: the name of the primary moves to another server, and the old connection stays: 79 at the next ping" {
  start_name one
  use "$(mysql_url primary)?strategy=session"
  start_watched a dlock run --ttl $((4 * slowness))s k -- section --for $((30 * slowness)) 2>said
  wait_until begun 1
  switch_over one two
  name_is two
  [ "$(how_ended a)" = "exit 79" ]
  grep -q 'has become read-only' said
  run -0 dlock run -q -w 10 k -- section
}

# bats test_tags=all
@test "a take and a refund of a stock go along with the name of the primary" {
  start_name one
  use "$(mysql_url primary)"
  dlock stock create phone --quantity 10 >/dev/null
  switch_over one two
  name_is two
  run -0 dlock stock take phone --id order-1
  run -0 dlock stock refund phone --id order-1
}
