# SPDX-License-Identifier: Apache-2.0
# DLOCK_LAST_VERSION: that of the last tag, vX.Y.Z, in the history of the tree, or the number here: whichever is later. So the
# next release has its number before it has its tag.
# By hand:  cmake -DFOLDER=TREE -P cmake/version.cmake
set(DLOCK_LAST_VERSION 1.0.0)
if(NOT FOLDER)
  set(FOLDER ${CMAKE_CURRENT_LIST_DIR}/..)
endif()
find_program(DLOCK_GIT git)
# A tree that was unpacked inside somebody else's repository has no history of its own.
if(DLOCK_GIT AND EXISTS ${FOLDER}/.git)
  execute_process(COMMAND ${DLOCK_GIT} -C ${FOLDER} describe --tags --abbrev=0 --match "v[0-9]*.[0-9]*.[0-9]*"
                  OUTPUT_VARIABLE tag OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(tag MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)$" AND CMAKE_MATCH_1 VERSION_GREATER DLOCK_LAST_VERSION)
    set(DLOCK_LAST_VERSION ${CMAKE_MATCH_1})
  endif()
endif()
if(CMAKE_SCRIPT_MODE_FILE)
  message(NOTICE ${DLOCK_LAST_VERSION})
endif()
