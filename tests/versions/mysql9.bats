# SPDX-License-Identifier: Apache-2.0
# What MySQL 9 does otherwise than MariaDB, on servers from the root DLOCK_TEST_MYSQL9 (tests/support/mysql9.bash).
load ../support/cli
load ../support/mysql
load ../support/mysql9

setup() {
  need_mysql9
  set_world
}
teardown() { end_world; }

one() { # a server with dlock's tables, which is the store
  start_mysql9 one
  in_mysql9_url "$(mysql9_url one)"
  dlock setup -b "$(mysql9_url one owner)" >/dev/null
}
in_mysql9_url() { url=$1 && use "$1"; }
with() { use "$url&strategy=$1"; }

@test "MySQL 9: every strategy takes and excludes; the locks of segments, which have no MD5; a lease without a password and TLS" {
  local strategy
  one
  for strategy in lease session row unique occupy; do
    with $strategy
    hold_lock $strategy
    run -75 dlock run -q -n $strategy -- touch ran
    let_go
    run -0 dlock doctor
    dlock stock create s-$strategy --quantity 2 >/dev/null
    run -0 dlock stock run s-$strategy --mode lock -- true
    [[ "$(dlock stock show s-$strategy)" == *"1 left"* ]]
  done
  use "mysql://app@127.0.0.1:$(port_of one)/locks"
  run -0 dlock run -n k -- true
  sql one 'SET GLOBAL require_secure_transport = ON'
  run -77 dlock run -n --if-unavailable run k -- touch ran
  [[ "$output" == *"wants TLS"*"ca-file="* ]]
  [ ! -e ran ]
}

@test "MySQL 9: by a Unix socket auth_socket and passwords log in as in mysql's own client; who may not is refused, 77" {
  one
  local at="/locks?socket=$servers/one/socket" me
  me=$(id -un)
  sql one "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';
    CREATE USER known@localhost IDENTIFIED WITH auth_socket AS '$me', other@localhost IDENTIFIED WITH auth_socket AS 'nobody-else',
      guarded@localhost IDENTIFIED BY 'secret';
    GRANT SELECT, INSERT, UPDATE, DELETE ON locks.* TO known@localhost, guarded@localhost"
  use "mysql://known@$at"
  run -0 dlock run -n k -- true
  DLOCK_PASSWORD=of-something-else run -0 dlock run -n k -- true
  use "mysql://guarded@$at"
  sql one 'FLUSH PRIVILEGES' # whose password no cache has
  DLOCK_PASSWORD=secret run -0 dlock run -n k -- true
  DLOCK_PASSWORD=secret run -0 dlock run -n k -- true
  DLOCK_PASSWORD=wrong run -77 dlock run -n --if-unavailable run k -- touch ran
  use "mysql://other@$at"
  run -77 dlock run -n --if-unavailable run k -- touch ran
  [ ! -e ran ]
}

@test "MySQL 9: row: a column without an index is refused in whatever form plans are explained: 78" {
  local format
  one
  sql one 'CREATE TABLE locks.orders (id INT PRIMARY KEY, x INT); INSERT INTO locks.orders VALUES (1, 0), (2, 0)'
  for format in TREE TRADITIONAL JSON; do
    sql one "SET GLOBAL explain_format = $format"
    use "$url&strategy=row&row=orders:x=0"
    run -78 dlock run -n k -- touch ran
    [[ "$output" == *"no index that serves"* ]]
    use "$url&strategy=row&row=orders:id=1"
    run -0 dlock run -n k -- true
  done
  [ ! -e ran ]
}

@test "MySQL 9: in offline mode a lease lives on, its waiter is served after it, a new one is told that it is unavailable: 69" {
  one
  hold_lock k
  start_watched waiter dlock run -w 60s k -- touch served
  wait_until has 1 waiters k
  sql one 'SET GLOBAL offline_mode = ON'
  run -69 dlock run -n other -- touch ran
  [[ "$output" == *"does not serve just now"*3032* ]]
  sql one 'SET GLOBAL offline_mode = OFF'
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
  [ ! -e ran ]
}

@test "MySQL 9: read_only is set in seconds beside a row and its waiter, who is served once it is over" {
  one
  with row
  hold_lock k
  start_watched waiter dlock run -w 90s k -- touch served
  wait_until has 1 waiters k
  local begin=$SECONDS
  sql one 'SET GLOBAL read_only = ON'
  [ $((SECONDS - begin)) -lt $((10 * slowness)) ]
  sql one 'SET GLOBAL read_only = OFF'
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
}

@test "MySQL 9: a router that shares connections takes leases and stocks without batches, and doctor says so" {
  local i
  one
  start_router router one
  in_mysql9_url "$(mysql9_url router)"
  hold_lock k
  start_watched waiter dlock run k -- touch served
  wait_until has 1 waiters k
  run -75 dlock run -q -n -b "$(mysql9_url one)" k -- true
  let_go
  [ "$(how_ended waiter)" = "exit 0" ]
  run -0 dlock doctor
  dlock stock create s --quantity 20 --segments 3 >/dev/null
  for i in {1..6}; do start_watched "buyer$i" dlock stock run s --mode lock -- true; done
  for i in {1..6}; do [ "$(how_ended "buyer$i")" = "exit 0" ]; done
  [[ "$(dlock stock show s)" == *"14 left"* ]]
}

@test "MySQL 9: where several primaries share their writes session and row are refused, 78, and doctor says it; a lease holds on all" {
  local strategy
  start_mysql9_group one two
  dlock setup -b "$(mysql9_url one owner)" >/dev/null
  wait_until sql_says two "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'dlock_row'" 1
  in_mysql9_url "$(mysql9_url two)"
  for strategy in session row; do
    with $strategy
    run -78 dlock run -n k -- touch ran
    [[ "$output" == *"one of several primaries"*"use strategy=lease"* ]]
    run -78 dlock inspect k
    run ! dlock doctor
    [[ "$output" == *"Group Replication"* ]]
  done
  for strategy in lease unique occupy; do
    in_mysql9_url "$(mysql9_url one)"
    with $strategy
    hold_lock k
    in_mysql9_url "$(mysql9_url two)"
    with $strategy
    run -75 dlock run -q -n k -- touch ran
    run -0 dlock doctor
    start_watched waiter-$strategy dlock run k -- true
    [ $strategy != lease ] || wait_until has 1 waiters k
    let_go
    [ "$(how_ended waiter-$strategy)" = "exit 0" ]
  done
  [ ! -e ran ]
}

@test "MySQL 9: the conformance suite" {
  one
  dlock setup -b "$(mysql9_url one owner)&strategy=occupy&table=method_lock&column=method_name" >/dev/null
  url=mysql://app@127.0.0.1:$(port_of one)/locks
  run env -i PATH="$PATH" DLOCK_TEST_SLOWNESS="${DLOCK_TEST_SLOWNESS-}" DLOCK_TEST_MYSQL="$url" \
    DLOCK_TEST_MYSQL_STRATEGIES="$url" HOME="$HOME" "$programs/dlock_conformance" --no-colors=true
  echo "$output" | tail -n 40
  [ "$status" = 0 ]
}
