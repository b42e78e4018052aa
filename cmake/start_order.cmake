# SPDX-License-Identifier: Apache-2.0
# Links programs so that what runs first in them lies side by side. A start is page faults, one for every 64 KiB of code
# that is touched, and what most runs touch is a tenth of the code. Each program is linked twice: as the linker finds
# things, below build/PRESET/first; these are run (first-runs), start_order.cpp sees which of their functions that takes,
# and the program itself is linked by the script that it writes. Before them come those that a keeper runs while it holds
# a lock (while_held.txt, which needs servers to be seen): after seconds of sleep each page of code is dear once more.
option(DLOCK_START_ORDER "Link what runs first side by side" ON)

if(DLOCK_START_ORDER)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -Wl,--version OUTPUT_VARIABLE linker ERROR_QUIET)
  if(NOT linker MATCHES "GNU ld" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 OR CMAKE_CROSSCOMPILING OR NOT DLOCK_STATIC)
    set(DLOCK_START_ORDER OFF)
  endif()
endif()

# After all else that TARGET is linked with has been said.
function(dlock_order_start target)
  if(NOT DLOCK_START_ORDER)
    return()
  endif()
  add_executable(${target}-first EXCLUDE_FROM_ALL $<TARGET_PROPERTY:${target},SOURCES>)
  target_link_libraries(${target}-first PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  get_target_property(folder ${target} RUNTIME_OUTPUT_DIRECTORY)
  get_target_property(name ${target} OUTPUT_NAME)
  get_target_property(without_tls ${target} DLOCK_WITHOUT_TLS)
  get_target_property(options ${target} LINK_OPTIONS)
  if(NOT name)
    set(name ${target})
  endif()
  string(REPLACE ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/first folder ${folder})
  set_target_properties(${target}-first PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${folder}
    DLOCK_WITHOUT_TLS "${without_tls}")
  target_link_options(${target}-first PRIVATE ${options} -Wl,-Map=${folder}/${name}.map)
  target_link_options(${target} PRIVATE -Wl,-T,${folder}/${name}.ld)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${folder}/${name}.ld)
  add_dependencies(${target} start_order_scripts)
  set_property(GLOBAL APPEND PROPERTY dlock_first_targets ${target}-first)
  set_property(GLOBAL APPEND PROPERTY dlock_first_programs ${folder}/${name})
endfunction()

# When all programs are known.
function(dlock_write_start_orders)
  if(NOT DLOCK_START_ORDER)
    return()
  endif()
  get_property(targets GLOBAL PROPERTY dlock_first_targets)
  get_property(programs GLOBAL PROPERTY dlock_first_programs)
  list(TRANSFORM programs APPEND .ld OUTPUT_VARIABLE scripts)
  add_executable(start_order EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/start_order.cpp)
  target_link_libraries(start_order PRIVATE dlock_flags)
  add_custom_command(OUTPUT ${scripts}
    COMMAND env -i PATH=/usr/bin:/bin HOME=/nonexistent
      $<TARGET_FILE:start_order> --held ${CMAKE_SOURCE_DIR}/cmake/while_held.txt
      ${programs} -- ${CMAKE_SOURCE_DIR}/cmake/first-runs ${CMAKE_BINARY_DIR}/first
    DEPENDS start_order ${targets} ${CMAKE_SOURCE_DIR}/cmake/first-runs ${CMAKE_SOURCE_DIR}/cmake/while_held.txt
    COMMENT "Seeing what runs first" VERBATIM)
  add_custom_target(start_order_scripts DEPENDS ${scripts})
endfunction()
