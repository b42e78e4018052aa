# SPDX-License-Identifier: Apache-2.0
# Rooms: tls, wire, deployment, native quorum redisson, rows, .
dlock_find_openssl()
dlock_find_library(dlock_shared_hiredis libhiredis.so hiredis/hiredis.h libhiredis-dev)
dlock_add_module(redis tls NEEDS dlock_shared_ssl)
dlock_add_keeper(redis STOCK NEEDS dlock_shared_hiredis)
