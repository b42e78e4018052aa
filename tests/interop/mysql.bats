# SPDX-License-Identifier: Apache-2.0
# dlock and programs that lock in MySQL by themselves (mariadb's client): each strategy shuts them out and is shut out by
# them. And the traps of locking with a database: snapshots, rows that are missing, columns without an index.
load ../support/cli
load ../support/mysql
load ../support/mysql_foreign

# --- named locks -----------------------------------------------------------------------------------------------------

# The names that the manual gives: a plain key is its own; any other one in the database "locks" has this.
lock_name() { echo "dlock:$(printf 'locks\nsession\n%s' "$1" | sha256sum | head -c 56)"; } # KEY

@test "session: a foreign GET_LOCK shuts dlock out, wherever its holder is in the queue" {
  with session
  open_session other app@one
  [ "$(say_in other "SELECT GET_LOCK('k', 0)")" = 1 ]
  shut_out_until say_in other "DO RELEASE_LOCK('k')"
  close_session other
  free
}

# bats test_tags=all
@test "session: a foreign holder whose client dies lets dlock in at once" {
  with session
  open_session other app@one
  say_in other "SELECT GET_LOCK('k', 0)"
  shut_out_until kill -KILL "$(cat other.pid)"
}

@test "session: dlock shuts a foreign GET_LOCK out, and lets it in when it ends" {
  with session
  hold_lock k
  [ "$(sql app@one "SELECT GET_LOCK('k', 0)")" = 0 ]
  [ "$(sql app@one "SELECT IS_USED_LOCK('k') IS NOT NULL")" = 1 ]
  open_session other app@one
  send_in other "SELECT GET_LOCK('k', 20)"
  sleep 0.3
  run ! said_in other
  let_go
  wait_until said_in other
  [ "$(head -n 1 other.out)" = 1 ]
  busy
}

# bats test_tags=all
@test "session: a key that a named lock cannot have as it is has the name that the manual tells" {
  with session
  local long name
  printf -v long '%070d' 7
  for name in K 'a b' ключ "$long" dlock:x; do
    hold_lock "$name"
    [ "$(sql app@one "SELECT GET_LOCK('$(lock_name "$name")', 0)")" = 0 ]
    let_go
    [ "$(sql app@one "SELECT GET_LOCK('$(lock_name "$name")', 0)")" = 1 ]
  done
}

# --- a row that is locked ---------------------------------------------------------------------------------------------

@test "row: FOR UPDATE of a foreign transaction shuts dlock out, until it commits, rolls back or dies" {
  with row
  free # the row is there now
  local how
  for how in COMMIT ROLLBACK KILL; do
    foreign_row "by_$how"
    if [ "$how" = KILL ]; then shut_out_until kill -KILL "$(cat by_KILL.pid)"; else shut_out_until say_in "by_$how" "$how"; fi
  done
}

# bats test_tags=all
@test "row: dlock shuts a foreign FOR UPDATE out" {
  with row
  hold_lock k
  local select="SELECT name FROM locks.dlock_row WHERE name = 'k' FOR UPDATE"
  run sql app@one "$select NOWAIT"
  [[ "$output" == *1205* ]]
  run -0 sql app@one 'SELECT name FROM locks.dlock_row FOR UPDATE SKIP LOCKED'
  [ "$output" = "" ]
  let_go
  [ "$(sql app@one "$select NOWAIT")" = k ]
}

@test "row=orders:id=42: the application that locks its order shuts dlock out, and is shut out; other orders go on" {
  shop
  order orders:id=42
  open_session application app@one
  say_in application 'USE shop; START TRANSACTION; SELECT state FROM orders WHERE id = 42 FOR UPDATE'
  shut_out_until say_in application 'UPDATE orders SET state = 1 WHERE id = 42; COMMIT'
  hold_lock k
  shut_out 'UPDATE shop.orders SET state = 2 WHERE id = 42'
  sql app@one 'UPDATE shop.orders SET state = 2 WHERE id = 41'
  let_go
  sql app@one 'UPDATE shop.orders SET state = 3 WHERE id = 42'
  [ "$(sql one 'SELECT state FROM shop.orders ORDER BY id')" = "$(printf '2\n3\n0')" ]
}

# bats test_tags=all
@test "row: by a unique column that is text" {
  shop
  order orders:code=b
  hold_lock k
  shut_out 'UPDATE shop.orders SET state = 2 WHERE id = 42'
  sql app@one "UPDATE shop.orders SET state = 2 WHERE code = 'a'"
  let_go
}

# bats test_tags=all
@test "row: a reader of the row, at any isolation level, does not wait for dlock, nor dlock for it" {
  shop
  order orders:id=42
  hold_lock k
  [ "$(sql app@one 'SELECT state FROM shop.orders WHERE id = 42')" = 0 ]
  let_go
}

@test "X10: row: a missing row is 78 and says so; nothing is locked by that, the row can be inserted" {
  shop
  order orders:id=999
  run -78 dlock run -n k -- touch ran
  [[ "$output" == *999* ]]
  start_watched waiter dlock run -q k -- touch ran
  [ "$(how_ended waiter)" = "exit 78" ]
  [ ! -e ran ]
  sql app@one "SET innodb_lock_wait_timeout = 1; INSERT INTO shop.orders (id) VALUES (999)"
}

# bats test_tags=all
@test "X10: row: a column without an index is 78 and named; no other row is locked by that" {
  shop
  order orders:note=same
  run -78 dlock run -n k -- touch ran
  [[ "$output" == *index* && "$output" == *note* ]]
  [ ! -e ran ]
  sql app@one 'SET innodb_lock_wait_timeout = 1; UPDATE shop.orders SET state = 9'
}

# bats test_tags=all
@test "row: no such table, no such column, a view, an engine without transactions, no number, no date: 78 with the name" {
  shop
  sql one "ALTER TABLE shop.orders ADD day DATE, ADD at TIMESTAMP NULL, ADD KEY (day), ADD KEY (at); \
    UPDATE shop.orders SET day = '2026-05-01', at = '2026-05-01 10:00:00'"
  sql one 'CREATE VIEW shop.open_orders AS SELECT id FROM shop.orders'
  local row
  for row in ordres:id=42 orders:idd=42 old:id=42 open_orders:id=42 orders:{id=42,id=,day=2026-05-01,'at=2026-05-01 10:00:00'}abc; do
    order "$row"
    run -78 dlock run -n k -- touch ran
    echo "$output"
    [[ "$output" == *"${row%%:*}"* || "$output" == *idd* ]]
    [[ "$row" != open_* || "$output" == *"is a view"* ]]
    [[ "$row" != *abc || "$output" == *"column of "* ]]
  done
  for row in orders:day=2026-05-01 orders:day=20260501 'orders:at=2026-05-01 10:00:00'; do
    order "$row"
    run -0 dlock run -n k -- true
  done
  [ ! -e ran ]
}

# bats test_tags=all
@test "row: no right to the table is 77" {
  shop
  sql one 'CREATE DATABASE closed; CREATE TABLE closed.orders (id INT PRIMARY KEY); INSERT INTO closed.orders VALUES (1)'
  use "mysql://app@127.0.0.1:$(port_of one)/closed?strategy=row&row=orders:id=1"
  run -77 dlock run -n k -- touch ran
  [ ! -e ran ]
}

# --- rows that are there or not, occupied or not -----------------------------------------------------------------------

@test "unique: a foreign INSERT shuts dlock out until the DELETE, and dlock's row a foreign INSERT" {
  with unique
  sql app@one "INSERT INTO locks.dlock_unique (name) VALUES ('k')"
  shut_out_until sql app@one "DELETE FROM locks.dlock_unique WHERE name = 'k'"
  hold_lock k
  run ! sql app@one "INSERT INTO locks.dlock_unique (name) VALUES ('k')"
  [[ "$output" == *1062* ]]
  let_go
  sql app@one "INSERT INTO locks.dlock_unique (name) VALUES ('k')"
  busy
}

@test "occupy: a foreign guarded UPDATE shuts dlock out until the state is 0 again, and dlock shuts it out" {
  with occupy
  free # the row is there now
  local occupy="UPDATE locks.dlock_occupy SET state = 1, version = version + 1, owner = 'me', expires = NULL WHERE name = 'k' AND state = 0"
  [ "$(sql app@one "$occupy; SELECT ROW_COUNT()")" = 1 ]
  shut_out_until sql app@one "UPDATE locks.dlock_occupy SET state = 0, version = version + 1 WHERE name = 'k'"
  hold_lock k
  [ "$(sql app@one "$occupy; SELECT ROW_COUNT()")" = 0 ]
  let_go
  [ "$(sql app@one "$occupy; SELECT ROW_COUNT()")" = 1 ]
}

# bats test_tags=all
@test "unique, occupy: a foreign row whose time is over is free, whoever asks" {
  local row over="expires = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND"
  for row in "unique dlock_unique SET name = 'k'" "occupy dlock_occupy SET name = 'k', state = 1"; do
    with "${row%% *}"
    sql app@one "INSERT INTO locks.${row#* }, $over"
    is_free k
    run -0 dlock force-release --yes k
    [[ "$output" == *free* ]]
    run -0 dlock gc --dry-run
    [[ "$output" == *"a lease that ended"* ]]
    free
    sql app@one "REPLACE INTO locks.${row#* }, $over"
    run -0 dlock gc
    [[ "$output" == *"a lease that ended"* ]]
    run -0 dlock gc --dry-run
    [[ "$output" == "nothing to sweep"* ]]
    free
  done
}

# The row is another program's for as long as its transaction lasts, and afterwards if that was committed.
uncommitted() { # STRATEGY STATEMENT
  with "$1"
  open_session other app@one
  say_in other "START TRANSACTION; $2"
  run -75 dlock run -q -w 0.3 k -- true
  run -75 dlock run -q -w 7 --connect-timeout 1s k -- true
  shut_out_until say_in other "${3:-ROLLBACK}"
  close_session other
  free
  rm -f other*
}

# bats test_tags=all
@test "unique: a row that a foreign transaction has not committed is busy, and waited for as long as --wait says" {
  uncommitted unique "INSERT INTO locks.dlock_unique (name) VALUES ('k')"
  uncommitted unique "INSERT INTO locks.dlock_unique (name) VALUES ('k')" "DELETE FROM locks.dlock_unique; COMMIT"
}

# bats test_tags=all
@test "occupy: a row that a foreign transaction has locked is busy, and waited for as long as --wait says" {
  uncommitted occupy "INSERT INTO locks.dlock_occupy (name, state) VALUES ('k', 1)"
  uncommitted occupy "SELECT state FROM locks.dlock_occupy WHERE name = 'k' FOR UPDATE"
}

# bats test_tags=all
@test "unique, occupy: a holder whose row a foreign transaction locks for a while keeps the lock" {
  local strategy
  for strategy in unique occupy; do
    with $strategy
    start_watched holder dlock run --ttl 9s k -- sleep 5
    wait_until is_held k
    open_session other app@one
    say_in other "START TRANSACTION; SELECT owner FROM locks.dlock_$strategy WHERE name = 'k' FOR UPDATE" >/dev/null
    sleep 3.2 # a renewal is due after 3 s
    say_in other COMMIT
    [ "$(how_ended holder)" = "exit 0" ]
    close_session other
    rm -f holder* other*
  done
}

# bats test_tags=all
@test "the strategies do not exclude each other: what the manual says" {
  hold_lock k
  local strategy
  for strategy in session row unique occupy; do
    with $strategy
    free
  done
  let_go
}

# --- the snapshot that is older than the lock --------------------------------------------------------------------------

# bats test_tags=all
@test "REPEATABLE READ: a client that is run under the lock sees what the one before it did, with every strategy" {
  local strategy
  sql one 'CREATE TABLE shop.counter (id INT PRIMARY KEY, n INT); INSERT INTO shop.counter VALUES (1, 0)'
  # Reads, then writes what it has read and one more: right only if nobody else does so between the two.
  script count_up <<SCRIPT
#!/bin/sh
client="mariadb --no-defaults -N --protocol=tcp -h 127.0.0.1 -P $(port_of one) -u app"
n=\$(\$client -e 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION; SELECT n FROM shop.counter')
exec \$client -e "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION;
  UPDATE shop.counter SET n = \$n + 1 WHERE id = 1; COMMIT"
SCRIPT
  script contender <<'SCRIPT'
#!/bin/bash
for _ in {1..5}; do dlock run -q k -- count_up || exit; done
SCRIPT
  local expected=0 i
  for strategy in lease session row unique occupy; do
    with $strategy
    for i in 1 2 3 4; do start_watched "c$i" contender; done
    for i in 1 2 3 4; do [ "$(how_ended "c$i")" = "exit 0" ]; done
    expected=$((expected + 20))
    [ "$(sql one 'SELECT n FROM shop.counter')" = "$expected" ]
    rm -f c?
  done
}

# bats test_tags=all
@test "X10: REPEATABLE READ: a transaction that is older than the lock sees the past, and one begun under it does not" {
  sql one 'CREATE TABLE shop.counter (id INT PRIMARY KEY, n INT); INSERT INTO shop.counter VALUES (1, 5)'
  open_session early app@one
  [ "$(say_in early 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION; SELECT n FROM shop.counter')" = 5 ]
  run -0 dlock run k -- mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$(port_of one)" -u app -e 'UPDATE shop.counter SET n = 4'
  hold_lock k
  # The trap: this session has the lock (dlock's), and reads what was before it.
  [ "$(say_in early 'SELECT n FROM shop.counter')" = 5 ]
  # The ways out that the manual names: a new transaction, or a locking read.
  # MariaDB with innodb_snapshot_isolation, the default since 11.6.2, ends the transaction there instead.
  say_in early 'SELECT n FROM shop.counter FOR UPDATE' >now
  [ "$(cat now)" = 4 ] || [[ "$(cat now)" == *"ERROR 1020"* ]]
  [ "$(say_in early 'COMMIT; SELECT n FROM shop.counter')" = 4 ]
  let_go
}

# bats test_tags=all
@test "row: the command itself must not write the row that dlock has locked for it: it would wait for its own dlock" {
  shop
  order orders:id=42
  run dlock run k -- mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$(port_of one)" -u app \
    -e 'SET innodb_lock_wait_timeout = 1; UPDATE shop.orders SET state = 7 WHERE id = 42'
  [[ "$output" == *1205* ]]
}
