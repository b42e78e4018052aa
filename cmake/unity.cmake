# SPDX-License-Identifier: Apache-2.0
# Sets OUT to what is compiled for SOURCE...: with DLOCK_UNITY one source for each folder, which includes the folder's and
# those of its rooms, so that the headers are read once a folder (a sixth of the processor time); without it the sources themselves, each of which
# includes what it uses (scripts/lint includes). What unity asks for: a name in an anonymous namespace is used by one file
# of its folder.
# Some programs leave these out (a static one has no name service), or they have definitions of their own, or headers that
# nobody else should wait for.
set(DLOCK_ALONE lib/net/lookup.cpp cmd/options/given_options.cpp cmd/wiring/compose.cpp
    cmd/command_rows.cpp lib/history/read_event.cpp)

function(dlock_unite out)
  if(NOT DLOCK_UNITY)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(units "")
  set(united "")
  foreach(source ${ARGN})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    if(source IN_LIST DLOCK_ALONE)
      list(APPEND united ${CMAKE_SOURCE_DIR}/${source})
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    set(house ${folder})
    if(NOT folder STREQUAL "backends/local/rows")  # a library of its own
      string(REGEX REPLACE "^(cmd|backends/[^/]+|tests/unit/[^/]+)/.*" "\\1" house "${folder}")
    endif()
    string(REPLACE "/" "_" unit ${house})
    string(APPEND includes_of_${unit} "#include \"${source}\"\n")
    list(APPEND units ${unit})
  endforeach()
  list(REMOVE_DUPLICATES units)
  foreach(unit ${units})
    set(file ${CMAKE_BINARY_DIR}/unity/${unit}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes_of_${unit}}" @ONLY)
    list(APPEND united ${file})
  endforeach()
  set(${out} ${united} PARENT_SCOPE)
endfunction()
