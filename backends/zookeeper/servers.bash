# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # dlock is scripts/start-test-servers'
# The servers of tests: one ZooKeeper, and an ensemble of three.
#  DLOCK_TEST_ZK          one ZooKeeper                DLOCK_TEST_ZK3         an ensemble of three
#  DLOCK_TEST_ZK_RECIPES  the first one again, for the recipes that are not the default; empty: without them
#  DLOCK_TEST_ZK_SEALED   a folder of the first one that another user has made, for somebody who may read it
need_programs java
# shellcheck source=tests/support/zookeeper.bash
. tests/support/zookeeper.bash

start_zookeeper_servers() {
  local one
  start_zookeeper zk & one=$!
  start_ensemble zk
  wait "$one"
  DLOCK_PASSWORD=secret env -u DLOCK_BACKEND "$dlock" stock create phone --quantity 1 -b "$(zookeeper_url zk | sed s,//,//owner@,)/sealed" >/dev/null
}

env_of_zookeeper_servers() {
  cat <<END
export DLOCK_TEST_ZK='$(zookeeper_url zk)'
export DLOCK_TEST_ZK_RECIPES='$(zookeeper_url zk)'
export DLOCK_TEST_ZK_SEALED='$(zookeeper_url zk)/sealed'
export DLOCK_TEST_ZK3='$(zookeeper_url zk1 zk2 zk3)'
END
}
