# SPDX-License-Identifier: Apache-2.0
dlock_find_openssl()
dlock_find_library(dlock_hiredis libhiredis.a hiredis/hiredis.h libhiredis-dev)
# Not for the programs without TLS (dlock_lean_keeper_programs).
add_library(dlock_redis_tls INTERFACE)
target_link_libraries(dlock_redis_tls INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:DLOCK_WITHOUT_TLS>>>:dlock_shared_ssl>)
dlock_add_keeper(redis STOCK LEAN NEEDS dlock_hiredis dlock_redis_tls)
