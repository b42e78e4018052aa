# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # servers, certificates and dlock are scripts/start-test-servers'
# The servers of tests: one MariaDB.
#  DLOCK_TEST_MYSQL       one MariaDB, its database "locks" ready for the user "app"; the others: tests/support/mysql.bash
#  DLOCK_TEST_MYSQL_STRATEGIES  the same, for the runs of each strategy; empty: they are left out
#  DLOCK_TEST_MYSQL_UNIX  the same by its socket       DLOCK_TEST_MYSQL_TLS   the same with TLS
need_programs mariadbd mariadb
# shellcheck source=tests/support/mysql.bash
. tests/support/mysql.bash

start_mysql_servers() {
  start_mysql mysql --ssl-ca="$certificates/ca.crt" --ssl-cert="$certificates/server.crt" --ssl-key="$certificates/server.key" \
    --bind-address=127.0.0.1,127.0.0.2
  # Beside its own tables one that a user may have (conformance.txt).
  env -u DLOCK_BACKEND "$dlock" setup -b "$(mysql_url mysql owner)?strategy=occupy&table=method_lock&column=method_name" >/dev/null
}

env_of_mysql_servers() {
  cat <<END
export DLOCK_TEST_MYSQL='$(mysql_url mysql)'
export DLOCK_TEST_MYSQL_STRATEGIES='$(mysql_url mysql)'
export DLOCK_TEST_MYSQL_UNIX='mysql://app@/locks?socket=$servers/mysql/socket'
export DLOCK_TEST_MYSQL_TLS='$(mysql_url mysql)?ca-file=$certificates/ca.crt'
END
}
