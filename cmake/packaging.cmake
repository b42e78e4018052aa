# SPDX-License-Identifier: Apache-2.0
# What stands beside the program when it is installed, and the Debian packages (cmake --build --preset package --target package).

# --- shell completions, written by dlock itself ---
if(NOT CMAKE_CROSSCOMPILING)
  set(completions ${CMAKE_BINARY_DIR}/completions)
  add_custom_command(
    OUTPUT ${completions}/dlock ${completions}/_dlock ${completions}/dlock.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND sh -c "\"$1\" completion bash >\"$2/dlock\" && \"$1\" completion zsh >\"$2/_dlock\" && \"$1\" completion fish >\"$2/dlock.fish\""
            sh $<TARGET_FILE:dlock> ${completions}
    DEPENDS dlock
    VERBATIM)
  add_custom_target(completions ALL DEPENDS ${completions}/dlock ${completions}/_dlock ${completions}/dlock.fish)
  install(FILES ${completions}/dlock DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT dlock)
  install(FILES ${completions}/_dlock DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT dlock)
  install(FILES ${completions}/dlock.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT dlock)
endif()

# --- copyright, changelog, examples ---
set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/changelog.gz
  COMMAND sh -c "gzip -9nc \"$1\" >\"$2\"" sh ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_BINARY_DIR}/changelog.gz
  DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md
  VERBATIM)
add_custom_target(changelog ALL DEPENDS ${CMAKE_BINARY_DIR}/changelog.gz)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/copyright ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${doc_dir}/dlock
        COMPONENT dlock)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${doc_dir}/dlock COMPONENT dlock)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/copyright-redis DESTINATION ${doc_dir}/dlock-redis RENAME copyright COMPONENT redis)
install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${doc_dir}/dlock-redis COMPONENT redis)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/copyright-zookeeper DESTINATION ${doc_dir}/dlock-zookeeper RENAME copyright
        COMPONENT zookeeper)
install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${doc_dir}/dlock-zookeeper COMPONENT zookeeper)

# --- the packages: the program, and one for each keeper program ---
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The dlock authors <dlock@example.org>")
set(CPACK_PACKAGE_VENDOR "The dlock authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL dlock redis zookeeper)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_DLOCK_PACKAGE_NAME dlock)
set(CPACK_DEBIAN_DLOCK_PACKAGE_SUGGESTS "dlock-redis, dlock-zookeeper")
set(CPACK_DEBIAN_REDIS_PACKAGE_NAME dlock-redis)
# The two speak to each other: they are of one version. The libraries are found by dpkg-shlibdeps (dpkg-dev).
set(CPACK_DEBIAN_REDIS_PACKAGE_DEPENDS "dlock (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_REDIS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ZOOKEEPER_PACKAGE_NAME dlock-zookeeper)
set(CPACK_DEBIAN_ZOOKEEPER_PACKAGE_DEPENDS "dlock (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_ZOOKEEPER_PACKAGE_SHLIBDEPS ON)
# Each text begins with its own summary; one for all would be put in front of it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_DLOCK_DESCRIPTION "run a command under a lock, first come first served
Runs a command while holding a lock, as flock(1) does, and keeps what flock
does not promise: waiters are served first come first served, a busy lock
says who holds it and what for, every holder gets a token that only grows, a
lock can be taken in one step of a script and given back in another, and a
stuck one can be freed by an operator.

This package holds the program with the backend for the locks of one machine.
It is statically linked and depends on nothing but the kernel. Locks across
machines need the package of their backend: dlock-redis, dlock-mysql or
dlock-zookeeper.")
set(CPACK_DEBIAN_REDIS_DESCRIPTION "run a command under a lock kept in Redis
Lets dlock keep its locks in Redis or Valkey: one server, the primary that
Sentinel names, a cluster, or a majority of independent servers (RedLock); and
in Tair. The lock is the key itself, so it excludes redis-py's Lock,
node-redlock and redsync.")
set(CPACK_DEBIAN_ZOOKEEPER_DESCRIPTION "run a command under a lock kept in ZooKeeper
Lets dlock keep its locks in Apache ZooKeeper, as the nodes that Curator (Java)
and kazoo (Python) make: a command takes part in the same locks as programs on
them, in the same order, and is ended before a lost lock can be somebody
else's.")

list(APPEND CPACK_COMPONENTS_ALL mysql)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/copyright-mysql DESTINATION ${doc_dir}/dlock-mysql RENAME copyright COMPONENT mysql)
install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${doc_dir}/dlock-mysql COMPONENT mysql)
string(APPEND CPACK_DEBIAN_DLOCK_PACKAGE_SUGGESTS ", dlock-mysql")
set(CPACK_DEBIAN_MYSQL_PACKAGE_NAME dlock-mysql)
set(CPACK_DEBIAN_MYSQL_PACKAGE_DEPENDS "dlock (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MYSQL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MYSQL_DESCRIPTION "run a command under a lock kept in MySQL or MariaDB
Lets dlock keep its locks in a table of a database that is there already: fair,
with fencing tokens, waiters woken at once, through reconnects and the
switch-over to another server. It also takes part in the locks that programs
make by themselves: GET_LOCK, SELECT ... FOR UPDATE on a row of their own, a
unique key, a state column.")

# Two builds of one release are the same file: what is packed carries the date of the release.
file(WRITE ${CMAKE_BINARY_DIR}/cpack_project.cmake "if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})\n  set(ENV{SOURCE_DATE_EPOCH} ${DLOCK_RELEASE_EPOCH})\nendif()\n")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/cpack_project.cmake)
include(CPack)
