# SPDX-License-Identifier: Apache-2.0
# dlock and programs that lock in MySQL by themselves (mariadb's client), on one server for the whole file. Loaded after
# cli.bash and mysql.bash; has the file's setup and teardown.

setup_file() { in_file start_mysql_with_tables one; }
teardown_file() { in_file kill_server one; }
setup() {
  set_world
  share_file_servers
  forget_others
  use "$(mysql_url one)"
}
teardown() { end_world; }

# What the test before has left: sessions, which end when their clients have, rows, tables and an account.
forget_others() {
  wait_until sql_says one "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE user IN ('app', 'owner', 'operator')" 0
  sql one "DELETE FROM locks.dlock_data; DELETE FROM locks.dlock_row; DELETE FROM locks.dlock_unique; DELETE FROM locks.dlock_occupy;
    DROP USER IF EXISTS operator; DROP DATABASE IF EXISTS closed; DROP DATABASE shop; CREATE DATABASE shop"
}

# --- dlock --------------------------------------------------------------------------------------------------------------

with() { use "$(mysql_url one)?strategy=$1"; } # STRATEGY
busy() { run -75 dlock run -q -n k -- true; }
free() { run -0 dlock run -n k -- true; }
waiter_starts() { start_watched waiter dlock run -q k -- touch served; }
waits() { kill -0 "$(pid_of waiter)" && [ ! -e served ]; }
# Nobody gets the lock that a foreign client has; when it does the COMMAND, who waits for it does.
shut_out_until() { # COMMAND...
  busy
  waiter_starts
  sleep 0.3
  waits
  "$@"
  [ "$(how_ended waiter)" = "exit 0" ]
  rm -f waiter* served
}
# A foreign client has to wait for a row that dlock has locked.
shut_out() { # STATEMENT
  run sql app@one "SET innodb_lock_wait_timeout = 1; $1"
  [[ "$output" == *1205* ]]
}

# --- the others ----------------------------------------------------------------------------------------------------------

foreign_row() { # ID: a client of "app" holds the row of k; its session is in $session
  open_session "$1" app@one
  session=$(say_in "$1" 'SELECT CONNECTION_ID()')
  say_in "$1" "START TRANSACTION; SELECT name FROM locks.dlock_row WHERE name = 'k' FOR UPDATE"
}

# The user's own table: a shop whose application locks an order by its row.
shop() {
  sql one "USE shop; CREATE TABLE orders (id INT PRIMARY KEY, code VARCHAR(20), note VARCHAR(20), state INT NOT NULL DEFAULT 0,
    UNIQUE (code)) ENGINE=InnoDB; INSERT INTO orders VALUES (41, 'a', 'same', 0), (42, 'b', 'same', 0), (43, 'c', 'other', 0);
    CREATE TABLE old (id INT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO old VALUES (42)"
  dlock setup -b "mysql://owner@127.0.0.1:$(port_of one)/shop" >/dev/null
}
order() { use "mysql://app@127.0.0.1:$(port_of one)/shop?strategy=row&row=$1"; } # TABLE:COLUMN=VALUE
