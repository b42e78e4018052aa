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
  DLOCK_PASSWORD=secret run -0 dlock run "$key" -- sh -c 'ps -eo args >ps.out; echo "$DLOCK_STORE"'
  [[ "$output" != *secret* ]]
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

@test "a key is data, whatever it says; 255 bytes of it fit" {
  local strange long strategy
  printf -v long '%0255d' 7
  for strange in "x'; DROP TABLE dlock_lock; -- " 'a"b`c\d' '%' '_' 'NULL' "x'6b'" '🙂' "$long"; do
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

@test "-vv says what the server answered, whatever the strategy" {
  local strategy
  for strategy in lease session row unique occupy; do
    use "$DLOCK_TEST_MYSQL?strategy=$strategy"
    hold_lock "$key:$strategy"
    run -75 dlock run -vv -w 0.2 "$key:$strategy" -- true
    [[ "$output" == *"$key:$strategy: "*" answers: busy, "* ]]
    let_go
  done
}
