# SPDX-License-Identifier: Apache-2.0
# Lets static programs start without asking what processor they run on: static_start.cpp says why and how. It stands on
# names of one release of the C library, so that static_start_check.cpp is built and run first, at a fixed address and
# elsewhere. Where that fails, or cannot be tried, programs start as the C library has it, and lack nothing but speed.
option(DLOCK_STATIC_START "Start static programs without questions to the processor" ON)
set(dlock_static_start_flags -fno-stack-protector  # its guard is not there yet
  -fno-builtin  # nor can the C library's string functions be called
  -fno-lto)

# Sets WORKS to whether the check passes when it is linked with OPTIONS.
function(dlock_try_static_start works options)
  try_run(${works}_status ${works}_compiled
    SOURCES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/static_start.cpp ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/static_start_check.cpp
    COMPILE_DEFINITIONS -fPIE ${dlock_static_start_flags}
    LINK_OPTIONS ${options} -Wl,-z,relro -Wl,-z,now
    CXX_STANDARD 20
    RUN_OUTPUT_VARIABLE output
    ARGS a "\"\"")
  set(result OFF)
  if(${works}_compiled AND ${works}_status STREQUAL 0)
    set(result ON)
  endif()
  set(${works} ${result} PARENT_SCOPE)
endfunction()

if(NOT DLOCK_STATIC OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 OR CMAKE_CROSSCOMPILING)
  set(DLOCK_STATIC_START OFF)
elseif(DLOCK_STATIC_START)
  set(ENV{START_CHECK} set)
  dlock_try_static_start(dlock_static_start_works -static)
  dlock_try_static_start(dlock_static_pie_start_works -static-pie)
  if(NOT dlock_static_start_works OR NOT dlock_static_pie_start_works)
    message(STATUS "Static programs start as the C library has it: see cmake/static_start.cmake")
    set(DLOCK_STATIC_START OFF)
  endif()
endif()

if(DLOCK_STATIC_START)
  add_library(dlock_static_start OBJECT ${CMAKE_CURRENT_LIST_DIR}/static_start.cpp)
  target_link_libraries(dlock_static_start PRIVATE dlock_flags)
  target_compile_options(dlock_static_start PRIVATE ${dlock_static_start_flags})
endif()

# For programs that are linked with -static or -static-pie.
function(dlock_start_statically target)
  if(DLOCK_STATIC_START)
    target_link_libraries(${target} PRIVATE dlock_static_start)
  endif()
endfunction()
