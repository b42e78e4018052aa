# SPDX-License-Identifier: Apache-2.0
# Rooms: session, lock, rows, .
dlock_find_library(dlock_shared_zookeeper libzookeeper_mt.so zookeeper/zookeeper.h libzookeeper-mt-dev)
dlock_add_keeper(zookeeper STOCK MAY_CRASH NEEDS dlock_shared_zookeeper)
