# SPDX-License-Identifier: Apache-2.0
# Flags that every target of ours gets, as one interface library.
add_library(dlock_flags INTERFACE)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)  # also without anything in it: ccache tells the two apart
target_include_directories(dlock_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(dlock_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wswitch-enum
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651)
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${DLOCK_UNITY}>>:-Wno-subobject-linkage>  # it takes each included source for a header
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
  -ffunction-sections -fdata-sections $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>,-fPIC,-fPIE>)
target_compile_definitions(dlock_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
# Small before fast: start-up is what a local lock costs, and start-up is page faults, one for every 64 KiB touched.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")
if(NOT DLOCK_SANITIZE)
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2")
endif()
# Position-independent, and read-only after its start: every program.
set(dlock_hardened_module_link -Wl,-z,relro -Wl,-z,now)
set(dlock_hardened_link -pie ${dlock_hardened_module_link})
# Links a program fully statically, as few pages of it as can be.
function(dlock_link_for_start target)
  target_link_options(${target} PRIVATE -static-pie ${dlock_hardened_module_link} -Wl,--gc-sections
    -Wl,-z,noseparate-code)  # one mapping less, and two faults
endfunction()
if(DLOCK_WERROR)
  target_compile_options(dlock_flags INTERFACE -Werror)
endif()
if(DLOCK_SANITIZE)
  # A report names the functions; their lines would take longer to compile, and -O1 more than twice as long.
  set(CMAKE_CXX_FLAGS_DEBUG "")
  target_compile_options(dlock_flags INTERFACE -fsanitize=${DLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(DLOCK_SANITIZE MATCHES undefined)
    # Each use of a pointer would be asked for both: a quarter of the time to compile. A null pointer is found all the same.
    target_compile_options(dlock_flags INTERFACE -fno-sanitize=null,alignment)
  endif()
  # What only calls the code that is watched: a third less to compile.
  target_compile_options(dlock_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:DLOCK_TEST_CODE>>:-fno-sanitize=undefined>)
  target_link_options(dlock_flags INTERFACE -fsanitize=${DLOCK_SANITIZE})
  find_program(DLOCK_LLD ld.lld)
  if(DLOCK_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    target_link_options(dlock_flags INTERFACE -fuse-ld=lld)  # links what is watched in a fifth of the time
  endif()
  target_compile_definitions(dlock_flags INTERFACE DLOCK_SANITIZED)
  set(DLOCK_STATIC OFF)
endif()
