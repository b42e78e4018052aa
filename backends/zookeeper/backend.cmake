# SPDX-License-Identifier: Apache-2.0
dlock_find_library(dlock_zookeeper_st libzookeeper_st.a zookeeper/zookeeper.h libzookeeper-st-dev)
dlock_add_keeper(zookeeper STOCK NEEDS dlock_zookeeper_st)
