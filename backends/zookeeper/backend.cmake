# SPDX-License-Identifier: Apache-2.0
# Rooms: session, lock, rows, .
dlock_find_library(dlock_zookeeper_mt libzookeeper_mt.a zookeeper/zookeeper.h libzookeeper-mt-dev)
dlock_add_keeper(zookeeper STOCK MAY_CRASH NEEDS dlock_zookeeper_mt)
