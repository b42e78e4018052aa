# SPDX-License-Identifier: Apache-2.0
# The rows of scripts/bench for ZooKeeper, with a server of their own. Sourced: what redis.bash is given, and its functions
# `against`, `chain`, `hand_over`, `revoke_to_start`, `kept_memory`, `kept_idle`.
# shellcheck disable=SC2154
# shellcheck source=tests/support/zookeeper.bash
. tests/support/zookeeper.bash

zookeeper_rows() {
  start_zookeeper bench
  own+=("$(pid_of_server bench)")
  local DLOCK_BACKEND waiters
  DLOCK_BACKEND=$(zookeeper_url bench)
  export DLOCK_BACKEND
  # The server's code becomes fast when it has run for a while: not to be paid by whoever is measured first.
  "$programs/zookeeper_lock" "$(port_of bench)" trips 5000 >/dev/null
  against 'zookeeper: dlock run k -- true' '<= 1.1' "$rounds" 'program on libzookeeper-mt' \
    "$programs/zookeeper_lock" "$(port_of bench)" run true
  inner_run
  for waiters in 2 64; do hand_over "$waiters" "$programs/zookeeper_lock" "$(port_of bench)" trips 50; done
  for waiters in 2 256; do zookeeper_watches "$waiters"; done
  revoke_to_start "$programs/zookeeper_lock" "$(port_of bench)" trips 50
  kept_memory
  kept_idle
  kill_server bench
}

watches_fired() { zookeeper_counts bench zk_sum_node_deleted_watch_count; }

# One a hand-over, however many wait; and three of the first holder, which has had the time to watch its own nodes.
zookeeper_watches() { # WAITERS
  local each before
  before=$(watches_fired)
  chain "$1" "$stage/stamps"
  each=$(quotient $(($(watches_fired) - before)) "$1")
  row "zookeeper: watches fired a hand-over, $1 wait" "<= $(awk -v n="$1" 'BEGIN { printf "%.2f", 1 + 3 / n }')" "$each" '' "$each"
}
