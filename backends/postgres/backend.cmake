# SPDX-License-Identifier: Apache-2.0
# Rooms: connection, rows, lease, bound, .
dlock_find_library(dlock_shared_pq libpq.so postgresql/libpq-fe.h libpq-dev)
dlock_add_keeper(postgres STOCK NEEDS dlock_shared_pq)
