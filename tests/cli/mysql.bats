# SPDX-License-Identifier: Apache-2.0
# MySQL from outside, with the server of scripts/start-test-servers: every strategy, every command and its exit status, what
# is said when the server, the password or the rights are not right. Ways to connect: mysql_connection.bats.
load ../support/cli
load ../support/mysql

setup() { set_world && use_shared_mysql; }
teardown() { end_world; }

as_user() { echo "${DLOCK_TEST_MYSQL/app@/$1@}"; } # USER

# --- strategies ------------------------------------------------------------------------------------------------------

@test "without strategy it is lease" {
  hold_lock "$key"
  run -75 dlock run -q -n -b "$DLOCK_TEST_MYSQL?strategy=lease" "$key" -- true
  let_go
}

# --- who may -------------------------------------------------------------------------------------------------------

@test "a password from DLOCK_PASSWORD and from a file; it is in no command line and no message" {
  use "$(as_user guarded)"
  DLOCK_PASSWORD=secret run -0 dlock run "$key" -- sh -c 'ps -C dlock,dlock-mysql -o args >ps.out; echo "$DLOCK_STORE"'
  [[ "$output" != *secret* ]]
  grep -q dlock-mysql ps.out
  run ! grep -qw secret ps.out
  (umask 077 && echo secret >password)
  run -0 dlock run -b "$(as_user guarded)?password-file=$PWD/password" "$key" -- true
}

@test "no password, a wrong one, a user that is none: 77 with the reason, and nothing was run" {
  run -77 dlock run -b "$(as_user guarded)" "$key" -- touch ran
  [[ "$output" == *guarded* ]]
  DLOCK_PASSWORD=wrong-one run -77 dlock run -b "$(as_user guarded)" "$key" -- touch ran
  [[ "$output" != *wrong-one* ]]
  run -77 dlock run -b "$(as_user nobody-knows)" "$key" -- touch ran
  [ ! -e ran ]
}

@test "a user without rights, and one that may only look: 77 for every strategy that writes, with the server's reason" {
  local strategy
  for strategy in lease row unique occupy; do
    run -77 dlock run -b "$(as_user stranger)?strategy=$strategy" "$key" -- touch ran
    DLOCK_PASSWORD=reader-secret run -77 dlock run -b "$(as_user reader)?strategy=$strategy" "$key" -- touch ran
    [[ "$output" == *denied* ]]
  done
  [ ! -e ran ]
}

# bats test_tags=all
@test "who may only look can inspect and wait" {
  hold_lock "$key"
  export DLOCK_PASSWORD=reader-secret
  use "$(as_user reader)"
  [ "$(holder_field "$key" owner)" = "$holder_owner" ]
  run -75 dlock wait -n "$key"
  let_go
  run -0 dlock wait -w 5 "$key"
}

@test "setup: by a user who may; again it changes nothing; --print is what a DBA can run; others get 77" {
  servers=$BATS_TEST_TMPDIR/servers
  start_mysql own
  use "$(mysql_url own)"
  run -78 dlock run "$key" -- touch ran
  [[ "$output" == *"dlock setup"* ]]
  [ ! -e ran ]
  run -77 dlock setup
  run -0 dlock setup -b "$(mysql_url own owner)"
  local tables
  tables=$(sql own 'SHOW TABLES IN locks')
  [ "$tables" ]
  run -0 dlock setup -b "$(mysql_url own owner)"
  [ "$(sql own 'SHOW TABLES IN locks')" = "$tables" ]
  run -0 dlock run "$key" -- true
  # By hand: what it prints, into another database.
  run -0 --separate-stderr dlock setup --print
  sql own "CREATE DATABASE more; USE more; $output"
  [ "$(sql own 'SHOW TABLES IN more')" = "$tables" ]
  sql own 'GRANT SELECT, INSERT, UPDATE, DELETE ON more.* TO app'
  run -0 dlock run -b "${DLOCK_BACKEND/\/locks//more}" "$key" -- true
}

# --- every command ---------------------------------------------------------------------------------------------------

# bats test_tags=all
@test "what a strategy cannot do is refused with 78, and its name: shared, permits, fair; nothing was run" {
  local strategy option
  for strategy in session row unique occupy; do
    use "$DLOCK_TEST_MYSQL?strategy=$strategy"
    for option in --shared '--permits 2'; do
      # shellcheck disable=SC2086  # words
      run -78 dlock run $option "$key" -- touch ran
      [[ "$output" == *$strategy* ]]
    done
  done
  for strategy in unique occupy; do run -78 dlock run --fair -b "$DLOCK_TEST_MYSQL?strategy=$strategy" "$key" -- touch ran; done
  [ ! -e ran ]
}

# --- keys, and what the server stores of them ------------------------------------------------------------------------

@test "keys that a collation would take for one are different locks, with every strategy" {
  local strategy
  for strategy in lease session row unique occupy; do
    use "$DLOCK_TEST_MYSQL?strategy=$strategy"
    hold_lock "$key:Key"
    run -0 dlock run -n "$key:key" -- true
    run -0 dlock run -n "$key:Key " -- true
    run -0 dlock run -n "$key:Kéy" -- true
    run -75 dlock run -q -n "$key:Key" -- true
    let_go
  done
}

# bats test_tags=all
@test "a key is data, whatever it says; 255 bytes of it fit" {
  local strange long strategy
  printf -v long '%0255d' 7
  for strange in "x'; DROP TABLE dlock_data; -- " 'a"b`c\d' '%' '_' 'NULL' "x'6b'" '🙂' "$long"; do
    for strategy in lease session row unique occupy; do
      hold_lock -b "$DLOCK_TEST_MYSQL?strategy=$strategy" "$strange"
      run -75 dlock run -q -n -b "$DLOCK_TEST_MYSQL?strategy=$strategy" "$strange" -- true
      let_go
    done
  done
}

# --- what is wrong ---------------------------------------------------------------------------------------------------

@test "a database that is none, a strategy that is none, TLS by halves: refused before or by the server, with the name" {
  run dlock run -n -b "${DLOCK_TEST_MYSQL/\/locks//lokcs}" "$key" -- touch ran
  [[ "$status" = 77 || "$status" = 78 ]]
  [[ "$output" == *lokcs* ]]
  run -78 dlock run -n -b "$DLOCK_TEST_MYSQL?strategy=leese" "$key" -- touch ran
  [[ "$output" == *lease* ]]
  run -78 dlock run -n -b "$DLOCK_TEST_MYSQL?cert-file=/x&key-file=/y" "$key" -- touch ran
  [[ "$output" == *ca-file* ]]
  [ ! -e ran ]
}

@test "a server that speaks another protocol: 69, not a hang and not a crash" {
  run -69 dlock run -n --connect-timeout 2s -b "mysql://app@127.0.0.1:${DLOCK_TEST_REDIS##*:}/locks" "$key" -- touch ran
  [ ! -e ran ]
}

# --- tables of one's own ---------------------------------------------------------------------------------------------

# The articles' table for a strategy, without dlock's columns; the store is that table from now on.
articles_table() { # STRATEGY
  table=method_lock_$1
  local columns='method_name VARCHAR(64) NOT NULL UNIQUE, `desc` VARCHAR(1024) NOT NULL DEFAULT "a remark"'
  [ "$1" = unique ] || columns='method_name VARCHAR(64) NOT NULL UNIQUE, state TINYINT NOT NULL, version INT NOT NULL'
  sql mysql "USE locks; DROP TABLE IF EXISTS $table; CREATE TABLE $table (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, $columns,
    update_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)"
  [ "$1" = unique ] || sql mysql "INSERT INTO locks.$table (method_name, state, version) VALUES ('k', 1, 1), ('k2', 1, 1)"
  use "$DLOCK_TEST_MYSQL?strategy=$1&table=$table&column=method_name"
}
# What a refusal says adds what is missing.
add_missing() { run -78 dlock inspect k && sql mysql "USE locks; $(grep -o 'ALTER TABLE.*' <<<"$output")"; }

# A program that follows the articles: KEY is taken if it is free, or given back.
article() { # take|free KEY
  local statement
  case "$1 $table" in
    "take method_lock_unique") statement="INSERT INTO $table (method_name, \`desc\`) VALUES ('$2', 'by hand')" ;;
    "free method_lock_unique") statement="DELETE FROM $table WHERE method_name = '$2'" ;;
    take*) statement="UPDATE $table SET state = 2, version = version + 1 WHERE method_name = '$2' AND state = 1 AND version = $(
      sql app@mysql "SELECT version FROM locks.$table WHERE method_name = '$2'"
    )" ;;
    free*) statement="UPDATE $table SET state = 1, version = version + 1 WHERE method_name = '$2'" ;;
  esac
  [ "$(sql app@mysql "USE locks; $statement; SELECT ROW_COUNT()" 2>/dev/null)" = 1 ]
}

# bats test_tags=all
@test "a table of one's own: what it lacks is 78, with the SQL that adds it; setup makes one that is missing" {
  local strategy
  for strategy in unique occupy; do
    articles_table $strategy
    run -78 dlock run -n k -- touch ran
    [[ "$output" == *"$table"*"lacks"*"dlock_owner"*"ALTER TABLE \`$table\` ADD COLUMN"* ]]
    run -78 dlock setup -b "${DLOCK_BACKEND/app@/owner@}"
    run ! dlock doctor
    [[ "$output" == *"fail"*"$table"*lacks* ]]
    add_missing
    run -0 dlock run -n k -- true
    run -0 dlock setup -b "${DLOCK_BACKEND/app@/owner@}"
    run -0 dlock doctor
    [[ "$output" == *"the table $table fits"* ]]
    sql mysql "DROP TABLE locks.$table"
    run -78 dlock run -n k -- touch ran
    [[ "$output" == *"no table $table"*"dlock setup"* ]]
    run -0 --separate-stderr dlock setup --print
    [[ "$output" == *"CREATE TABLE IF NOT EXISTS \`$table\`"*'`method_name`'*"ON \`locks\`.\`$table\` TO"* ]]
    run -0 dlock setup -b "${DLOCK_BACKEND/app@/owner@}"
    [[ "$output" == *"$table"* ]]
    run -0 dlock run -n k -- true
  done
  [ ! -e ran ]
}

# bats test_tags=all
@test "a table of one's own that cannot be a lock: without a unique name, with numbers for names, names too short: 78" {
  local change
  for change in "DROP INDEX method_name" "DROP INDEX method_name, ADD UNIQUE (method_name, id)" "MODIFY method_name INT NOT NULL" \
    "MODIFY state VARCHAR(8) NOT NULL" "DROP COLUMN version" "RENAME COLUMN method_name TO other_name" "ADD what INT NOT NULL"; do
    articles_table occupy
    add_missing
    sql mysql "DELETE FROM locks.$table; ALTER TABLE locks.$table $change"
    run -78 dlock run -n k -- touch ran
    [[ "$output" == *"$table"*lacks*"ALTER TABLE \`$table\` "* ]]
  done
  articles_table unique
  add_missing
  run -78 dlock run -n "$(printf '%065d' 7)" -- touch ran
  [[ "$output" == *"room for this key in method_name"* ]]
  [ "$(sql mysql "SELECT COUNT(*) FROM locks.$table")" = 0 ]
  [ ! -e ran ]
}

@test "names of tables and columns that are none, or mean nothing: 78" {
  local query
  for query in 'strategy=unique&table=a.b' 'strategy=unique&table=t&column=a%60b' 'strategy=lease&table=t' 'table=t' \
    'strategy=unique&column=c' 'strategy=unique&table=t&state=s' 'strategy=occupy&state=s' 'strategy=occupy&table=t&free=x' \
    'strategy=occupy&table=t&free=2'; do
    run -78 dlock run -n -b "$DLOCK_TEST_MYSQL?$query" k -- touch ran
    [[ $query == *free=2 ]] || run -78 dlock config check -b "$DLOCK_TEST_MYSQL?$query"
  done
  run -0 dlock config check -b "$DLOCK_TEST_MYSQL?strategy=occupy&table=t&column=c&state=s&version=v&free=0&taken=1"
  [ ! -e ran ]
}

# bats test_tags=all
@test "N7: a program that follows the articles and dlock exclude each other: method_lock by INSERT, by state and version" {
  local strategy
  for strategy in unique occupy; do
    articles_table $strategy
    add_missing
    article take k
    run -75 dlock run -q -n k -- touch ran
    start_watched waiter dlock run -q k -- touch served
    sleep 0.3
    [ ! -e served ]
    article free k
    [ "$(how_ended waiter)" = "exit 0" ]
    hold_lock k
    run ! article take k
    article take k2 || [ $strategy = occupy ]
    let_go
    article take k
    run -75 dlock run -q -n k -- touch ran
    article free k
    rm -f waiter* served
  done
  [ ! -e ran ]
}

# bats test_tags=all
@test "N7: dlock and programs that follow the articles, all at once: at most one is inside" {
  local strategy i
  inside() { mkdir inside && sleep 0.02 && rmdir inside || touch two-inside; }
  export -f inside
  by_article() {
    local _
    for _ in {1..6}; do
      until article take k; do sleep 0.1; done
      inside
      article free k
    done
  }
  for strategy in unique occupy; do
    articles_table $strategy
    add_missing
    for i in 1 2; do
      by_article 3>&- &
      start_watched "c$i" bash -c 'for _ in {1..6}; do dlock run -q k -- bash -c inside || exit; done'
    done
    for i in 1 2; do [ "$(how_ended "c$i")" = "exit 0" ]; done
    wait
    rm -f c?
  done
  [ ! -e two-inside ]
  [ ! -e inside ]
}

# bats test_tags=all
@test "N7: what another program holds has no end: inspect says so, gc leaves it, force-release takes it when told to" {
  local strategy
  for strategy in unique occupy; do
    articles_table $strategy
    add_missing
    run -0 dlock run -n --ttl 1s k -- true
    article take k
    run -0 dlock inspect k
    [[ "$output" == *"another program"* && "$output" != *token* && "$output" != *expires* ]]
    sleep 1.1
    run -0 dlock gc
    run ! dlock force-release k </dev/null
    run -75 dlock run -q -n k -- touch ran
    run -0 dlock force-release --yes k
    run -0 dlock run -n k -- true
  done
  [ ! -e ran ]
}

# bats test_tags=all
@test "N7: occupy: a state that is set back by hand ends dlock's hold (79), and what it left gives no other's hold away" {
  articles_table occupy
  add_missing
  start_watched holder dlock run -q --ttl 3s k -- sleep 20
  wait_until is_held k
  sql app@mysql "UPDATE locks.$table SET state = 1 WHERE method_name = 'k'"
  article take k
  [ "$(how_ended holder)" = "exit 79" ]
  sleep 3.1 # the lease that is still in the row is over
  run -75 dlock run -q -n k -- touch ran
  run -0 dlock gc
  run ! article take k
  article free k
  run -0 dlock run -n k -- true
  # A table with other states is not misunderstood.
  sql mysql "UPDATE locks.$table SET state = 0"
  run -78 dlock run -n k -- touch ran
  [[ "$output" == *"neither free (1) nor taken (2)"* ]]
  run -0 dlock run -n -b "$DLOCK_BACKEND&free=0&taken=1" k -- true
  [ ! -e ran ]
}
