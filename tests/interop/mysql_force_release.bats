# SPDX-License-Identifier: Apache-2.0
# What an operator does about a program that locks in MySQL by itself and does not give back (E21): of a named lock inspect
# shows the connection, and force-release ends it; of a row the server says no name, so both say what to look for.
load ../support/cli
load ../support/mysql
load ../support/mysql_foreign

operator() { # RIGHT...: an account that has them besides those that dlock needs
  sql one "CREATE OR REPLACE USER operator; GRANT SELECT, INSERT, UPDATE, DELETE ON locks.* TO operator;
    GRANT SELECT ON shop.* TO operator${1:+; GRANT $1 ON *.* TO operator}"
}
as_operator() { DLOCK_BACKEND=${DLOCK_BACKEND/app@/operator@} dlock "$@"; }
is_session() { sql_says one "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE id = $1" 1; }

@test "E21: row: another session's is shown as that, and force-release says where to look: 78, and frees nothing" {
  with row
  free
  operator 'PROCESS, CONNECTION ADMIN'
  foreign_row other
  run -0 as_operator inspect --json k
  jq -e '.holders | length == 1 and (.[0] | .note == "another session" and .token == null)' <<<"$output"
  run -0 dlock inspect k
  [[ "$output" == *"another session"* ]]
  run -78 as_operator force-release --yes k
  [[ "$output" == *"SHOW ENGINE INNODB STATUS"*"XA RECOVER"* ]]
  run -78 dlock revoke k
  [[ "$output" == *"another session has it"* ]]
  is_session "$session"
  busy
  say_in other COMMIT
  free
}

# bats test_tags=all
@test "E21: row: of a prepared XA transaction and of shared locks it says no more: 78" {
  with row
  free
  sql one "XA START 'x'; SELECT name FROM locks.dlock_row WHERE name = 'k' FOR UPDATE; UPDATE locks.dlock_row SET name = 'k' WHERE name = 'k';
    INSERT INTO locks.dlock_row VALUES ('other'); XA END 'x'; XA PREPARE 'x'"
  run -78 dlock force-release --yes k
  sql one "XA ROLLBACK 'x'"
  free
  open_session reader app@one
  say_in reader "START TRANSACTION; SELECT name FROM locks.dlock_row WHERE name = 'k' LOCK IN SHARE MODE"
  run -78 dlock force-release --yes k
  say_in reader COMMIT
  free
}

@test "E21: session: the foreign session that has the named lock is shown by its number, and ended by who may" {
  with session
  operator
  open_session other app@one
  session=$(say_in other 'SELECT CONNECTION_ID()')
  say_in other "SELECT GET_LOCK('k', 0)"
  run -0 dlock inspect k
  [[ "$output" == *"another session, connection $session"* ]]
  run -77 as_operator force-release --yes k
  [[ "$output" == *"CONNECTION ADMIN"*"KILL $session"* ]]
  is_session "$session"
  operator 'CONNECTION ADMIN'
  run -0 as_operator force-release --yes k
  run ! is_session "$session"
  free
}
