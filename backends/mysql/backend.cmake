# SPDX-License-Identifier: Apache-2.0
# Rooms: connection, lease, bound row, rows, .
dlock_find_openssl()
dlock_find_library(dlock_shared_z libz.so zlib.h zlib1g-dev)
dlock_find_library(dlock_connector libmysqlcppconn-static.a mysql_driver.h libmysqlcppconn-dev)
dlock_find_library(dlock_mariadb libmariadb.a mariadb/mysql.h libmariadb-dev libmariadb)
target_link_libraries(dlock_connector INTERFACE dlock_mariadb)
dlock_add_keeper(mysql STOCK NEEDS dlock_connector)
