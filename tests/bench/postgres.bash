# SPDX-License-Identifier: Apache-2.0
# The rows of scripts/bench for PostgreSQL, with a server of their own. Sourced: what redis.bash is given, and its functions
# `against`, `hand_over`, `once_that_ran`, `revoke_to_start`, `kept_memory`, `kept_idle`.
# shellcheck disable=SC2154
# shellcheck source=tests/support/postgres.bash
. tests/support/postgres.bash

postgres_rows() {
  # Two commits belong to a lease, none to an advisory lock. What the disk takes for them is the disk's.
  start_postgres bench shared_buffers=128MB
  own+=("$(pid_of_server bench)")
  local DLOCK_BACKEND peer=("$programs/postgres_advisory_lock" "$(port_of bench)") waiters
  dlock setup -b "$(postgres_url bench owner)" >/dev/null
  DLOCK_BACKEND=$(postgres_url bench)
  export DLOCK_BACKEND
  against 'postgres: dlock run k -- true' '<= 1.3' "$rounds" 'libpq, pg_try_advisory_lock' "${peer[@]}" run true
  inner_run
  for waiters in 2 64; do hand_over "$waiters" "${peer[@]}" round-trips 50; done
  once_that_ran
  revoke_to_start "${peer[@]}" round-trips 50
  kept_memory
  kept_idle
  kill_server bench
}
