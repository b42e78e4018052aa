# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# MySQL servers and accounts that are set to something else than usual: limits, and what new sessions begin with.
load ../support/cli
load ../support/mysql

setup() {
  set_world
  start_mysql_with_tables one
}
teardown() { end_world; }

for_each_strategy() { # FUNCTION: with that strategy as the store, and a key of its own
  local strategy
  for strategy in lease session row unique occupy; do
    use "$(mysql_url one)?strategy=$strategy"
    "$1" "$strategy"
  done
}

queue_of_two() { # KEY
  local waiter queued=1
  [[ "$1" != unique && "$1" != occupy ]] || queued= # these have no queue
  hold_lock --ttl 60s "$1"
  for waiter in "$1-b" "$1-c"; do
    start_watched "$waiter" dlock run -q "$1" -- sh -c "echo $waiter >>ran-$1"
    [ -z "$queued" ] || wait_until has "$((queued++))" waiters "$1"
  done
  [ -z "$queued" ] || sleep 0.2 # longer than a statement may last
  let_go
  for waiter in "$1-b" "$1-c"; do [ "$(how_ended "$waiter")" = "exit 0" ]; done
  [ -z "$queued" ] || [ "$(head -n 1 "ran-$1")" = "$1-b" ]
  [ "$(wc -l <"ran-$1")" = 2 ]
  wait_until is_free "$1"
}
one_minute() { # KEY TABLE
  run -0 dlock acquire --ttl 60s "$1-lease"
  # A lease is so many microseconds after the moment in which its row was written, its version.
  local expires=expires which="name = '$1-lease'"
  if [ "$2" = data ]; then
    expires="'1970-01-01' + INTERVAL version + REGEXP_SUBSTR(text, '(?<= \\\\+)[0-9]+') MICROSECOND"
    which+=" AND space = 'lock'"
  fi
  sql one "SELECT $expires - INTERVAL 60 SECOND BETWEEN UTC_TIMESTAMP(6) - INTERVAL 60 SECOND AND UTC_TIMESTAMP(6)
    FROM locks.dlock_$2 WHERE $which" >ends
  [ "$(cat ends)" = 1 ]
}
@test "sessions that begin with another sql_select_limit, completion_type, autocommit and character set: queues are served all the same" {
  sql one 'SET GLOBAL sql_select_limit = 1; SET GLOBAL completion_type = 2; SET GLOBAL autocommit = 0'
  sql one "SET GLOBAL init_connect = 'SET sql_select_limit = 1, completion_type = 2, autocommit = 0, collation_connection = ucs2_bin, \
    character_set_results = utf16'"
  for_each_strategy queue_of_two
}
@test "sessions that begin in a read-only transaction, in another database, with short statements: the same" {
  sql one "SET GLOBAL init_connect = 'SET max_statement_time = 0.05; USE shop; START TRANSACTION READ ONLY'"
  for_each_strategy queue_of_two
  run -0 dlock stock create phone --quantity 10
  run -0 dlock stock take phone --id one
  [ "$(sql one "SELECT COUNT(*) FROM locks.dlock_data WHERE id LIKE 'request/%'")" = 1 ]
}
@test "an init_connect that fails: 69, and it is named" {
  sql one "SET GLOBAL init_connect = 'SELECT 1 FROM nowhere'"
  run -69 dlock run -n k -- touch ran
  [[ "$output" == *"refused the session: "*"init_connect command failed"*"log"* ]]
  [ ! -e ran ]
}
@test "sessions that begin with a clock that stands, or a small max_join_size: leases end when they should" {
  local init table
  for init in 'timestamp = 1000000000' 'max_join_size = 1'; do
    sql one "SET GLOBAL init_connect = 'SET $init'"
    for table in data unique occupy; do
      use "$(mysql_url one)?strategy=${table/data/lease}"
      one_minute "$init" "$table"
    done
  done
}

@test "a server that ends idle transactions: that of strategy=row lasts as long as it is held" {
  sql one 'SET GLOBAL idle_transaction_timeout = 1, idle_write_transaction_timeout = 1'
  use "$(mysql_url one)?strategy=row"
  hold_lock --ttl 60s k
  open_session other one
  say_in other 'BEGIN; SELECT * FROM locks.dlock_row'
  wait_until sql_says one "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root' AND info IS NULL" 0
  run -75 dlock run -n k -- touch ran
  let_go
  [ ! -e ran ]
}

no_more_connections() { # KEY
  run -69 dlock run -n "$1" -- touch ran
  [[ "$output" == *"a limit of this account is reached: "*"max_user_connections"*"ALTER USER"* ]]
}
@test "an account that has all its connections: 69 with the limit's name, on every strategy; the holder keeps its lock" {
  sql one 'ALTER USER app WITH MAX_USER_CONNECTIONS 9' # from now on they are counted
  start_watched a dlock run -q --ttl 4s k -- sh -c 'until [ -e go ]; do sleep 0.1; done'
  wait_until is_held k
  sql one 'ALTER USER app WITH MAX_USER_CONNECTIONS 1'
  for_each_strategy no_more_connections
  [ ! -e ran ]
  touch go
  [ "$(how_ended a)" = "exit 0" ]
}

too_long() { # KEY
  run -78 dlock run -n --reason "$(printf '%0250d' 0)" "$1-$(printf '%0200d' 0)" -- touch ran
  [[ "$output" == *"max_allowed_packet"* ]]
}
@test "a server that takes short statements only: 78 with the setting's name, on every strategy" {
  sql one 'SET GLOBAL max_allowed_packet = 1024; SET GLOBAL net_buffer_length = 1024'
  for_each_strategy too_long
  [ ! -e ran ]
}

# A row's waiter goes on waiting, and nobody can say for whom; that of unique cannot look at its row.
@test "who waits on a server whose tables are locked is told that, and when it is over" {
  open_session other one
  local strategy
  for strategy in row unique; do
    use "$(mysql_url one)?strategy=$strategy"
    hold_lock --ttl 60s "$strategy"
    run -130 terminal 'expect:held by' 'run:echo "LOCK TABLES locks.dlock_data WRITE, locks.dlock_unique WRITE;" >other.in' \
      'expect:did not answer in time' 'run:echo "UNLOCK TABLES;" >other.in' 'expect:held by' 'send:\x03' -- \
      dlock run --connect-timeout 2s "$strategy" -- touch ran
    let_go
  done
  [ ! -e ran ]
}

# They lock no rows, and keep what was to be taken back.
@test "tables whose engine has no transactions: row and a new stock refuse them, 78; setup and doctor name it, and a wrong key" {
  sql one 'ALTER TABLE locks.dlock_row ENGINE = MyISAM; ALTER TABLE locks.dlock_data ENGINE = Aria'
  run -78 dlock run -n -b "$(mysql_url one)?strategy=row" k -- touch ran
  [[ "$output" == *"dlock_row"*"engine MyISAM has no transactions"*"ENGINE=InnoDB"* ]]
  run -78 dlock stock create phone --quantity 10
  [[ "$output" == *"dlock_data"*"engine Aria has no transactions"* ]]
  run -0 dlock stock show
  [[ "$output" == "there is no stock"* ]]
  run -78 dlock setup -b "$(mysql_url one owner)"
  [[ "$output" == *"engine "*" has no transactions"*"ENGINE=InnoDB"* ]]
  run ! dlock doctor
  [[ "$output" == *"fail"*"engine MyISAM"* && "$output" == *"fail"*"engine Aria"* ]]
  sql one 'ALTER TABLE locks.dlock_row ENGINE = InnoDB; ALTER TABLE locks.dlock_data ENGINE = InnoDB'
  run -0 dlock run -n -b "$(mysql_url one)?strategy=row" k -- true
  run -0 dlock stock create phone --quantity 10
  sql one 'ALTER TABLE locks.dlock_data DROP PRIMARY KEY; ALTER TABLE locks.dlock_unique MODIFY name VARCHAR(255) NOT NULL'
  run -78 dlock setup -b "$(mysql_url one owner)"
  [[ "$output" == *"dlock_unique has the primary key (name varchar)"* ]]
  run ! dlock doctor
  [[ "$output" == *"fail"*"dlock_unique has the primary key (name varchar)"*"fail"*"dlock_data has no primary key"* ]]
  [ ! -e ran ]
}

@test "sessions that are read-only by default (tx_read_only): locks and stocks work as elsewhere" {
  sql one 'SET GLOBAL tx_read_only = 1'
  local strategy
  for strategy in lease session row unique occupy; do
    run -0 dlock run -n -b "$(mysql_url one)?strategy=$strategy" k -- true
  done
  run -0 dlock stock create phone --quantity 3
  run -0 dlock stock take phone
}

# What was read at the start is not the password any more.
@test "a password file that is written anew: holder and waiter log in with what it says now" {
  script_section
  (umask 077 && echo secret >password)
  use "$(mysql_url one guarded)?password-file=$PWD/password"
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((6 * slowness))
  wait_until begun 1
  wait_section b
  sql one "SET PASSWORD FOR guarded = PASSWORD('another')"
  echo another >password
  sql one 'KILL USER guarded'
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "a row that cannot be read ends neither inspect of all locks nor metrics: it is counted" {
  hold_lock good
  dlock run -n bad -- true
  sql one "UPDATE locks.dlock_data SET text = 'of another program' WHERE space = 'lock' AND name = 'bad'"
  run -77 dlock inspect
  [[ "$output" == *"good  held"* && "$output" == *"1 lock in "*" cannot be read"* ]]
  run -0 dlock metrics
  [[ "$output" == *"dlock_unreadable_locks"*" 1"* ]]
  run -78 dlock run -n bad -- touch ran
  [ ! -e ran ]
  let_go
}
