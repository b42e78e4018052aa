# SPDX-License-Identifier: Apache-2.0
# Debian's cross-compiler for arm64, with the libraries of that architecture (scripts/cross-arm64 sets up both); debian/rules
# takes the file cmake/ARCHITECTURE.cmake when it builds packages for another architecture. What has
# to run while it is built runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
find_program(qemu qemu-aarch64 NO_CMAKE_FIND_ROOT_PATH)
if(qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu})
endif()
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
