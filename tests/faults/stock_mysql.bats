# SPDX-License-Identifier: Apache-2.0
# Stocks in MariaDB when something goes wrong: connections cut behind every single message, servers killed and started
# again, networks that are silent, rows that somebody else has locked. Each test has a server of its own, and the user
# "app" with no more rights than the manual asks for.
load ../support/cli
load ../support/mysql
load ../support/stock

setup() {
  set_world
  requests=8 replies=24 # to connect takes most of them
  start_mysql_with_tables one
}
teardown() { end_world; }

through_proxy() {
  start_proxy one mysql
  direct=$(mysql_url one)
  use "$(mysql_url proxy)"
}

# bats test_tags=all
@test "cut behind every message: a take is one take" {
  through_proxy
  create 300 7
  cut_behind_each dlock stock take phone --qty 3 --id order-AT
  is taken $((3 * cuts))
}

@test "mode lock, a sale over two segments when the clock is behind one of them: sold, and nothing stays reserved" {
  use "$(mysql_url one)"
  create 10 2
  run -0 dlock stock run phone --mode lock --qty 8 --id a -- true
  run -0 dlock stock refund phone --id a
  sql one "update locks.dlock_data set version=version+60000000 where id='lock/1'"
  run -0 dlock stock run phone --mode lock --qty 8 --id b -- true
  is total 2
  is reserved 0
  run -0 dlock stock run phone --mode lock --id=-5 -- true
  is total 1
  balanced
}

@test "a black hole: CMD is ended with 79 before its time is over, nothing is sold, the part comes back" {
  through_proxy
  create 10 2
  black_hole 2
}

# bats test_tags=all
@test "the server is killed and comes back while CMD runs: sold once, or given back" {
  create 10 2
  start_watched a dlock stock run phone --qty 2 --id a --ttl 20s -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done'
  start_watched b dlock stock run phone --qty 1 --id b --ttl 20s -- sh -c 'touch inside2; until [ -e go ]; do sleep 0.1; done; exit 1'
  wait_until test -e inside
  wait_until test -e inside2
  kill_server one
  restart_mysql one
  is reserved 3
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 1" ]
  is taken 2
  is total 8
}

# bats test_tags=all
@test "twelve takers of a server that is killed and comes back, and are killed themselves: the sum holds" {
  start_watched stress "$(dirname "$DLOCK")/../tests/stock_stress" 10 4 "$DLOCK_BACKEND"
  wait_until sql_says one "SELECT SUM(c) > 20 FROM locks.dlock_data" 1
  kill_server one
  restart_mysql one
  local _
  for _ in 1 2 3; do ! wait_until filled stress || break; done # it gives back every order, one by one
  [ "$(how_ended stress)" = "exit 0" ]
}

# bats test_tags=all
@test "while the server is away a take waits for it, until the connect timeout: 69" {
  create 10 2
  kill_server one
  take_waits_for_its_server 0 restart_mysql one
  is taken 1
}

# bats test_tags=all
@test "the last item of twenty segments is found in one request" {
  create 1 20
  dlock stock take phone
  dlock stock add phone --qty 20
  local i
  for i in {1..19}; do dlock stock take phone; done >/dev/null
  dlock stock rebalance phone
  run -0 dlock stock take phone -n
  run -80 dlock stock take phone -n
  is taken 21
}

@test "rows that somebody else has locked: a take waits for them, and none gives up" {
  create 4 2
  open_session other one
  say_in other "BEGIN; SELECT a FROM locks.dlock_data WHERE id LIKE 'segment/%' FOR UPDATE"
  start_watched a dlock stock take phone --qty 2 --id a
  start_watched b dlock stock take phone --qty 2 --id b -n
  wait_until sql_says one "SELECT COUNT(DISTINCT trx_mysql_thread_id) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'" 2
  say_in other 'ROLLBACK'
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  close_session other
  is total 0
}

# bats test_tags=all
@test "a wait for a row that is longer than the server allows is begun again" {
  create 4 1
  open_session other one
  say_in other 'BEGIN; SELECT a FROM locks.dlock_data FOR UPDATE'
  start_watched a dlock stock refund phone --id never --before-take
  start_watched b dlock stock take phone --id late
  sql one "SELECT SLEEP(2.5)" >/dev/null # longer than innodb_lock_wait_timeout of our sessions
  say_in other 'ROLLBACK'
  [ "$(how_ended b)" = "exit 0" ]
  [ "$(how_ended a)" = "exit 0" ]
  close_session other
  is taken 1
}

@test "tables that are missing: 78, which says how to make them; doctor says so; setup makes those" {
  sql one 'DROP TABLE locks.dlock_data'
  run -78 dlock stock take phone
  [[ "$output" == *"dlock setup"* ]]
  run dlock doctor
  [[ "$output" == *"missing, or of another version: dlock_data"* ]]
  run -0 dlock setup --print -b "$(mysql_url one owner)"
  [[ "$output" == *"GRANT SELECT, INSERT, UPDATE, DELETE ON \`locks\`.dlock_data TO"* ]]
  run -0 dlock setup -b "$(mysql_url one owner)"
  [[ "$output" == *"created"*": dlock_data" ]]
  create 4 2
  run -0 dlock stock take phone
}

# bats test_tags=all
@test "data that make no sense are said to be wrong, and nothing is changed; what is negative cannot be written" {
  create 4 2
  run ! sql one 'UPDATE locks.dlock_data SET a = -1'
  sql one "DELETE FROM locks.dlock_data WHERE id = 'segment/0'"
  run -78 dlock stock show phone
  [[ "$output" == *"is inconsistent: segment 0 is missing"* ]]
  run -78 dlock stock take phone --qty 3
  sql one "UPDATE locks.dlock_data SET a = 9 WHERE id = 'segment/1'; INSERT INTO locks.dlock_data(space, name, id, version, text) VALUES('stock', 'phone', 'request/odd', 1, 'T x')"
  run -78 dlock stock take phone --id odd
  [[ "$output" == *"request 'odd'"* ]]
  sql_says one "SELECT SUM(a) FROM locks.dlock_data WHERE id LIKE 'segment/%'" 9
}

# bats test_tags=all
@test "no right to change the tables: 77, and nothing has happened" {
  create 4 2
  DLOCK_PASSWORD=reader-secret run -77 dlock stock take phone -b "$(mysql_url one reader)"
  is total 4
}

# bats test_tags=all
@test "a server that takes no changes: 69" {
  create 4 2
  sql one 'SET GLOBAL read_only = ON'
  run -69 dlock stock take phone --connect-timeout 1s
  [[ "$output" == *"read-only"* ]]
}

# bats test_tags=all
@test "tokens begin at the time at which the stock was made: one that comes from another store goes on with larger ones" { tokens_begin_at_the_time; }

# bats test_tags=all
@test "a server that greets nobody: 69, and nothing was done" {
  through_proxy
  create 10 2
  take_from_a_server_that_greets_nobody
}
