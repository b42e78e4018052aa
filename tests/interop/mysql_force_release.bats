# SPDX-License-Identifier: Apache-2.0
# What an operator does about a program that locks in MySQL by itself and does not give back (E21): inspect shows its session,
# force-release ends it, and who has not the right to that is told which one it takes.
load ../support/cli
load ../support/mysql
load ../support/mysql_foreign

operator() { # RIGHT...: an account that has them besides those that dlock needs
  sql one "CREATE OR REPLACE USER operator; GRANT SELECT, INSERT, UPDATE, DELETE ON locks.* TO operator;
    GRANT SELECT, UPDATE ON shop.* TO operator${1:+; GRANT $1 ON *.* TO operator}"
}
as_operator() { DLOCK_BACKEND=${DLOCK_BACKEND/app@/operator@} dlock "$@"; }
is_session() { sql_says one "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE id = $1" 1; }

@test "E21: row: who may sees the foreign session that holds it, and force-release ends that one and no other" {
  with row
  free
  operator 'PROCESS, CONNECTION ADMIN'
  foreign_row other
  open_session bystander app@one
  say_in bystander "START TRANSACTION; SELECT name FROM locks.dlock_row WHERE name = 'no' FOR UPDATE"
  waiter_starts
  wait_until sql_says one "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'" 1
  run -0 as_operator inspect --json k
  echo "$output"
  jq -e --arg session "$session" '.holders | length == 1 and (.[0] | .owner == "connection " + $session and .user == "app" and
    (.host | startswith("127.0.0.1:")) and .since != null and (.note | contains("another program")))' <<<"$output"
  run -0 as_operator inspect k
  [[ "$output" == *"app@127.0.0.1:"*"another program, connection $session"* ]]
  waits
  run -0 as_operator force-release --yes k
  [[ "$output" == *"app@127.0.0.1:"* ]]
  run ! is_session "$session"
  [ "$(how_ended waiter)" = "exit 0" ]
  [ "$(say_in bystander 'SELECT 1')" = 1 ]
  free
}

# bats test_tags=all
@test "E21: row: a search leaves no session behind, and a foreign holder does not notice it" {
  with row
  free
  operator PROCESS
  foreign_row other
  run -0 as_operator inspect k
  wait_until sql_says one "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE user = 'operator'" 0
  [ "$(say_in other 'SELECT 1; COMMIT')" = 1 ]
  free
}

# bats test_tags=all
@test "E21: row=orders:id=42: the application's session that has locked its order is shown and ended" {
  shop
  order orders:id=42
  operator 'PROCESS, CONNECTION ADMIN'
  open_session application app@one
  session=$(say_in application 'SELECT CONNECTION_ID()')
  say_in application 'USE shop; START TRANSACTION; UPDATE orders SET state = 1 WHERE id = 42'
  sql one 'GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO operator'
  [ "$(as_operator inspect --json k | jq -r '.holders[0].owner')" = "connection $session" ]
  run -0 as_operator force-release --yes k
  free
  [ "$(sql one 'SELECT state FROM shop.orders WHERE id = 42')" = 0 ]
}

# bats test_tags=all
@test "E21: row: without PROCESS, or without CONNECTION ADMIN, force-release names the right, 77, and frees nothing" {
  with row
  free
  foreign_row other
  run -0 dlock inspect k
  [[ "$output" == *"another program"* ]]
  run -77 dlock force-release --yes k
  [[ "$output" == *"right PROCESS, which app does not have"*"GRANT PROCESS ON *.* TO app"* ]]
  operator PROCESS
  run -77 as_operator force-release --yes k
  [[ "$output" == *"CONNECTION ADMIN"*"KILL $session"* ]]
  is_session "$session"
  busy
  say_in other COMMIT
  free
}

# bats test_tags=all
@test "E21: row: a holder that is no session's, and shared locks, are refused with what to do: 78" {
  with row
  free
  operator 'PROCESS, CONNECTION ADMIN'
  sql one "XA START 'x'; SELECT name FROM locks.dlock_row WHERE name = 'k' FOR UPDATE; UPDATE locks.dlock_row SET name = 'k' WHERE name = 'k';
    INSERT INTO locks.dlock_row VALUES ('other'); XA END 'x'; XA PREPARE 'x'"
  run -78 as_operator force-release --yes k
  [[ "$output" == *"prepared XA transaction"*"XA ROLLBACK"* ]]
  sql one "XA ROLLBACK 'x'"
  free
  open_session reader app@one
  say_in reader "START TRANSACTION; SELECT name FROM locks.dlock_row WHERE name = 'k' LOCK IN SHARE MODE"
  run -78 as_operator force-release --yes k
  [[ "$output" == *"does not report which session"* ]]
  say_in reader COMMIT
  free
}

@test "E21: session: the foreign session that has the named lock is shown with its account, and ended" {
  with session
  operator 'PROCESS, CONNECTION ADMIN'
  open_session other app@one
  session=$(say_in other 'SELECT CONNECTION_ID()')
  say_in other "SELECT GET_LOCK('k', 0)"
  [ "$(as_operator inspect --json k | jq -r '.holders[0] | "\(.owner) \(.user)"')" = "connection $session app" ]
  run -0 as_operator force-release --yes k
  run ! is_session "$session"
  free
}
