# SPDX-License-Identifier: Apache-2.0
# Rooms: connection, bound row rows, lease, .
# Connector/C++ is C++: shared it would bring the shared C++ library with it, for a sixth of a run.
dlock_find_library(dlock_connector libmysqlcppconn-static.a mysql_driver.h libmysqlcppconn-dev)
dlock_find_library(dlock_shared_mariadb libmariadb.so mariadb/mysql.h libmariadb-dev)
target_link_libraries(dlock_connector INTERFACE dlock_shared_mariadb)
dlock_add_keeper(mysql STOCK NEEDS dlock_connector)
