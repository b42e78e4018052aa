# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD= -DNAME= -DEPOCH= -P tarball.cmake: BUILD/NAME.tar.gz with the program for the locks of one machine, its pages and
# examples, for systems without Debian's packages, and beside it its checksum. The same build gives the same bytes.
set(folder ${BUILD}/tarball)
file(REMOVE_RECURSE ${folder})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component dlock --strip --prefix ${folder}/${NAME}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND tar --sort=name --mtime=@${EPOCH} --owner=0 --group=0 --numeric-owner -cf ${NAME}.tar ${NAME}
                COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${folder})
execute_process(COMMAND gzip -9nf ${NAME}.tar COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${folder})
execute_process(COMMAND sha256sum ${NAME}.tar.gz OUTPUT_FILE ${BUILD}/${NAME}.tar.gz.sha256
                COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${folder})
file(RENAME ${folder}/${NAME}.tar.gz ${BUILD}/${NAME}.tar.gz)
file(REMOVE_RECURSE ${folder})
message(NOTICE "${BUILD}/${NAME}.tar.gz")
