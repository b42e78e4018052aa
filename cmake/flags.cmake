# SPDX-License-Identifier: Apache-2.0
# Flags that every target of ours gets, as one interface library.
add_library(dlock_flags INTERFACE)
target_include_directories(dlock_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(dlock_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wswitch-enum
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651)
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffunction-sections -fdata-sections)
target_compile_definitions(dlock_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
# Small before fast: start-up is what a local lock costs, and start-up is page faults, one for every 64 KiB touched.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")
# Links a program fully statically, with what runs at its start side by side (cmake/startup.ld, and what
# scripts/order-startup has found for PROGRAM).
function(dlock_link_for_start target program)
  set(folder ${CMAKE_SOURCE_DIR}/cmake/startup)
  target_link_options(${target} PRIVATE -static -Wl,--gc-sections
    -Wl,-z,noseparate-code  # one mapping less, and two faults
    -Wl,-L,${folder}/${program} -Wl,-T,${folder}.ld)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS
    "${folder}.ld;${folder}/${program}/text.ld;${folder}/${program}/rodata.ld")
endfunction()
if(DLOCK_WERROR)
  target_compile_options(dlock_flags INTERFACE -Werror)
endif()
if(DLOCK_SANITIZE)
  target_compile_options(dlock_flags INTERFACE -fsanitize=${DLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    -g1)  # lines for the reports; everything that a debugger wants would take a tenth longer to compile
  target_link_options(dlock_flags INTERFACE -fsanitize=${DLOCK_SANITIZE})
  target_compile_definitions(dlock_flags INTERFACE DLOCK_SANITIZED)
  set(DLOCK_STATIC OFF)
endif()

# With DLOCK_PRECOMPILE: TARGET's sources see the standard headers that most of them include, and HEADER..., already
# compiled. Only for the time that it saves: every source still includes what it uses, as clang-tidy sees (scripts/lint).
function(dlock_precompile target)
  if(DLOCK_PRECOMPILE)
    target_compile_options(${target} PRIVATE  # ccache wants these
      $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <charconv> <chrono> <functional> <map> <memory>
      <optional> <string> <string_view> <variant> <vector> ${ARGN})
  endif()
endfunction()
