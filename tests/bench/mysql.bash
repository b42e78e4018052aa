# SPDX-License-Identifier: Apache-2.0
# The rows of scripts/bench for MariaDB, with a server of their own. Sourced: what redis.bash is given, and its functions
# `against`, `chain`, `hand_over`, `once_that_ran`, `revoke_to_start`, `kept_memory`, `kept_idle`.
# shellcheck disable=SC2154
# shellcheck source=tests/support/mysql.bash
. tests/support/mysql.bash

mysql_rows() {
  # Two commits belong to a lease, none to a named lock. What the disk takes for them is the disk's.
  # (Without file-buffering MariaDB waits for the disk at each commit, though it asks for no flush.)
  start_mysql bench --innodb-buffer-pool-size=128M --innodb-flush-method=fsync --loose-innodb-log-file-buffering=ON
  own+=("$(pid_of_server bench)")
  local DLOCK_BACKEND
  dlock setup -b "$(mysql_url bench owner)" >/dev/null
  DLOCK_BACKEND=$(mysql_url bench)
  export DLOCK_BACKEND
  # The key has been used before, as that of a lock that is used again and again.
  against 'mysql: dlock run k -- true' '<= 1.2' "$rounds" 'Connector/C++, GET_LOCK' \
    "$programs/mysql_named_lock" "$(port_of bench)" run true
  inner_run
  mysql_requests
  local waiters
  for waiters in 2 64; do hand_over "$waiters" "$programs/mysql_named_lock" "$(port_of bench)" round-trips 50; done
  for waiters in 2 256; do mysql_requests_of_hand_over "$waiters"; done
  mysql_requests_of_at_least
  once_that_ran
  revoke_to_start "$programs/mysql_named_lock" "$(port_of bench)" round-trips 50
  kept_memory
  kept_idle
  kill_server bench
}

# Statements of "app" since `log_statements`; those that set up the connection are not counted.
log_statements() { sql bench "SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON; TRUNCATE mysql.general_log"; }
statements() {
  sql bench 'SET GLOBAL general_log = OFF'
  sql bench "SELECT COUNT(*) FROM mysql.general_log WHERE user_host LIKE 'app%' AND command_type IN ('Query', 'Execute')
    AND argument NOT LIKE 'SET %' AND argument NOT LIKE 'SHOW SESSION VARIABLES%'"
}

mysql_requests() {
  local count
  dlock run k -- true
  log_statements
  dlock run k -- true
  count=$(statements)
  row 'mysql: requests of dlock run k -- true' '<= 3' "$count" '' "$count"
}

mysql_requests_of_at_least() {
  local count
  dlock run --at-least 1s least -- true
  dlock wait least
  log_statements
  dlock run --at-least 1m least -- true
  count=$(statements)
  row 'mysql: requests of dlock run --at-least' '<= 4' "$count" 'one more than a release' "$count"
}

few_statements= # a hand-over with 2 waiters
mysql_requests_of_hand_over() { # WAITERS
  local count=$1 sum each
  chain "$count" "$stage/stamps" log_statements
  sum=$(statements)
  each=$(quotient "$sum" "$count")
  if [ "$few_statements" ]; then
    row "mysql: requests a hand-over, $count wait" "<= $(awk -v n="$few_statements" 'BEGIN { print n + 1 }')" "$each" \
      "with 2 waiting: $few_statements" "$each"
  else
    few_statements=$each
    row "mysql: requests a hand-over, $count wait" '<= 10' "$each" '' "$each"
  fi
}
