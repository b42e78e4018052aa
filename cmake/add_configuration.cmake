# SPDX-License-Identifier: Apache-2.0
# Run by cpack before the packages are written: that of the program begins with a configuration, which cmake --install
# never writes.
set(etc ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/dlock/etc)
file(COPY ${CPACK_DLOCK_PACKAGING}/debian/config.toml DESTINATION ${etc}/dlock
     FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(CHMOD ${etc} ${etc}/dlock PERMISSIONS ${CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
