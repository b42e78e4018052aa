# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The servers of tests: one ZooKeeper, and an ensemble of three.
#  DLOCK_TEST_ZK          one ZooKeeper                DLOCK_TEST_ZK3         an ensemble of three
#  DLOCK_TEST_ZK_RECIPES  the first one again, for the recipes that are not the default; empty: without them
need_programs java
# shellcheck source=tests/support/zookeeper.bash
. tests/support/zookeeper.bash

start_zookeeper_servers() {
  local one
  start_zookeeper zk & one=$!
  start_ensemble zk
  wait "$one"
}

env_of_zookeeper_servers() {
  cat <<END
export DLOCK_TEST_ZK='$(zookeeper_url zk)'
export DLOCK_TEST_ZK_RECIPES='$(zookeeper_url zk)'
export DLOCK_TEST_ZK3='$(zookeeper_url zk1 zk2 zk3)'
END
}
