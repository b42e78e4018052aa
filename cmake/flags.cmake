# SPDX-License-Identifier: Apache-2.0
# Flags that every target of ours gets, as one interface library.
add_library(dlock_flags INTERFACE)
target_include_directories(dlock_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(dlock_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wswitch-enum
  -Wno-restrict  # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651)
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffunction-sections -fdata-sections)
target_compile_definitions(dlock_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
# Small before fast: start-up is what a local lock costs, and start-up is page faults, one for every 64 KiB touched.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")
if(DLOCK_WERROR)
  target_compile_options(dlock_flags INTERFACE -Werror)
endif()
if(DLOCK_SANITIZE)
  target_compile_options(dlock_flags INTERFACE -fsanitize=${DLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(dlock_flags INTERFACE -fsanitize=${DLOCK_SANITIZE})
  set(DLOCK_STATIC OFF)
endif()
