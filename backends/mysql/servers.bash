# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # servers, certificates and dlock are scripts/start-test-servers'
# The servers of tests: two MariaDB.
#  DLOCK_TEST_MYSQL       one MariaDB, its database "locks" ready for the user "app"; the others: tests/support/mysql.bash
#  DLOCK_TEST_MYSQL_STRATEGIES  the same, for the runs of each strategy; empty: they are left out
#  DLOCK_TEST_MYSQL_UNIX  the same by its socket       DLOCK_TEST_MYSQL_TLS   the same with TLS
#  DLOCK_TEST_MYSQL_SEALED  the other one, which is read_only, with dlock's tables    DLOCK_TEST_MYSQL_READER  the same; who may only look
need_programs mariadbd mariadb
# shellcheck source=tests/support/mysql.bash
. tests/support/mysql.bash

start_mysql_servers() {
  local sealed
  mysql_beginning >/dev/null
  start_sealed_mysql & sealed=$!
  start_mysql mysql --ssl-ca="$certificates/ca.crt" --ssl-cert="$certificates/server.crt" --ssl-key="$certificates/server.key" \
    --bind-address=127.0.0.1,127.0.0.2
  # Beside its own tables one that a user may have (conformance.txt).
  env -u DLOCK_BACKEND "$dlock" setup -b "$(mysql_url mysql owner)?strategy=occupy&table=method_lock&column=method_name" >/dev/null
  wait "$sealed"
}

start_sealed_mysql() {
  start_mysql mysql-sealed
  env -u DLOCK_BACKEND "$dlock" setup -b "$(mysql_url mysql-sealed owner)" >/dev/null
  sql mysql-sealed 'SET GLOBAL read_only = ON'
}

env_of_mysql_servers() {
  cat <<END
export DLOCK_TEST_MYSQL='$(mysql_url mysql)'
export DLOCK_TEST_MYSQL_STRATEGIES='$(mysql_url mysql)'
export DLOCK_TEST_MYSQL_SEALED='$(mysql_url mysql-sealed)'
export DLOCK_TEST_MYSQL_READER='$(mysql_url mysql-sealed reader:reader-secret)'
export DLOCK_TEST_MYSQL_UNIX='mysql://app@/locks?socket=$servers/mysql/socket'
export DLOCK_TEST_MYSQL_TLS='$(mysql_url mysql)?ca-file=$certificates/ca.crt'
END
}
