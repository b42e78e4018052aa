# SPDX-License-Identifier: Apache-2.0
# Rooms: files, ., rows
# Inside dlock, its stocks in a program of their own.
dlock_find_library(dlock_sqlite libsqlite3.a sqlite3.h libsqlite3-dev sqlite3)
dlock_add_backend(local)
# A lock that nobody else wants is 4 µs, of which all but one are the kernel's: speed before size, here alone.
target_compile_options(dlock_backend_local PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O2>)
dlock_add_stock_keeper(local NEEDS dlock_sqlite)
