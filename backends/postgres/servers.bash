# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # servers, certificates and dlock are scripts/start-test-servers'
# The servers of tests: one PostgreSQL.
#  DLOCK_TEST_POSTGRES       one PostgreSQL, its database "locks" ready for the user "app"; the others: tests/support/postgres.bash
#  DLOCK_TEST_POSTGRES_UNIX  the same by its socket       DLOCK_TEST_POSTGRES_TLS   the same with TLS
#  DLOCK_TEST_POSTGRES_SEALED  the same for the user "sealed", whose transactions are read-only; DLOCK_TEST_POSTGRES_READER: for who may only look
need_programs psql
# shellcheck source=tests/support/postgres.bash
. tests/support/postgres.bash

start_postgres_servers() {
  start_postgres postgres
  pg postgres 'CREATE ROLE sealed LOGIN IN ROLE app; ALTER ROLE sealed SET default_transaction_read_only = on'
  env -u DLOCK_BACKEND "$dlock" setup -b "$(postgres_url postgres owner)" >/dev/null
}

env_of_postgres_servers() {
  cat <<END
export DLOCK_TEST_POSTGRES='$(postgres_url postgres)'
export DLOCK_TEST_POSTGRES_SEALED='$(postgres_url postgres sealed)'
export DLOCK_TEST_POSTGRES_READER='$(postgres_url postgres reader:reader-secret)'
export DLOCK_TEST_POSTGRES_UNIX='postgres://app@/locks?socket=$servers/postgres/data/.s.PGSQL.$(port_of postgres)'
export DLOCK_TEST_POSTGRES_TLS='$(postgres_url postgres)?ca-file=$certificates/ca.crt'
END
}
