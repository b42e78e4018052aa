# SPDX-License-Identifier: Apache-2.0
# A backend is one folder and one line in backends/CMakeLists.txt. Its folder has
#   backend.cmake   its rooms ("# Rooms: ", the lowest first: scripts/check-layers), the libraries that it stands on, and one
#                   of these:
#     dlock_add_backend(NAME)                           lives inside dlock, because it needs no client library
#     dlock_add_keeper(NAME [STOCK] [MAY_CRASH] NEEDS lib...)
#                                                       lives in a program of its own, libexec/dlock/dlock-NAME, which
#                                                       may use dlock_keeper_memory MiB of address space; MAY_CRASH: a
#                                                       library of it does on what a lying server sends
#     dlock_add_stock_keeper(NAME NEEDS lib...)         only the stocks of a backend that lives inside dlock
#   and, if some of its connections need a library that is slow to load,
#     dlock_add_module(NAME ROOM NEEDS lib...)          libexec/dlock/dlock-ROOM.so, which the keeper opens when it must
#   url.h           its schemes and their parameters, dlock::NAME::kUrls (lib/config/url_schemes.h)
#   conformance.txt the stores of tests/conformance (tests/support/store_table.h)
#   servers.bash    the servers of its tests (scripts/start-test-servers); none: it needs none
#
# The folder's sources, those of its rooms too, become the library dlock_backend_NAME, with their
# scripts (cmake/lua.cmake). NAME/backend.h must declare
#   Result<std::unique_ptr<LockAdmin>> make_NAME_admin(const BackendUrl&, const Runtime&)
# and inside dlock also
#   OpenSession open_NAME_sessions(const BackendUrl&, const Runtime&)
# and for a keeper also
#   Result<std::unique_ptr<LockDriver>> keep_NAME_lock(const BackendUrl&, const LockSpec&, const Runtime&)
# and with STOCK (or for a stock keeper) NAME/rows/rows.h
#   Result<std::unique_ptr<Rows>> make_NAME_rows(const BackendUrl&, const RowSpace&, const Runtime&)
# A stock keeper's sources are in the folder NAME/rows.
# This makes the programs' registries (backends/registry.h), one definition a program: dlock_registry_PROGRAM; and
# the table of all URLs, which dlock_lib has.

# Of dlock_all_backends those that are built: DLOCK_BACKENDS.
macro(dlock_choose_backends)
  # Empty in the cache, so that a tree that is configured already builds one that comes later.
  set(DLOCK_BACKENDS "" CACHE STRING "The backends that are built; only their libraries are needed. Empty: all")
  if(DLOCK_BACKENDS STREQUAL "")
    set(DLOCK_BACKENDS ${dlock_all_backends})
  endif()
  foreach(backend ${DLOCK_BACKENDS})
    if(NOT backend IN_LIST dlock_all_backends)
      message(FATAL_ERROR "DLOCK_BACKENDS: there is no backend '${backend}'; there are: ${dlock_all_backends}")
    endif()
  endforeach()
  if(NOT "local" IN_LIST DLOCK_BACKENDS)
    message(FATAL_ERROR "DLOCK_BACKENDS: 'local' is a part of dlock itself and cannot be left out: -DDLOCK_BACKENDS=\"local;${DLOCK_BACKENDS}\"")
  endif()
  dlock_url_tables(${dlock_all_backends})
endmacro()

# Those that are not built as well: their URLs are known, and their packages are named.
function(dlock_url_tables)
  set(url_includes "")
  set(url_rows "")
  foreach(backend ${ARGN})
    string(APPEND url_includes "#include \"backends/${backend}/url.h\"\n")
    string(APPEND url_rows "    ${backend}::kUrls,\n")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/registries/url_tables.cpp)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/url_tables.cpp.in ${file} @ONLY)
  target_sources(dlock_lib PRIVATE ${file})
endfunction()

function(dlock_backend_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/${name}/(${ARGN})/")  # not of this library
  dlock_unite(sources ${sources})
  add_library(dlock_backend_${name} STATIC ${sources})
  target_link_libraries(dlock_backend_${name} PUBLIC dlock_lib)
  dlock_embed_lua(dlock_backend_${name} ${name})
endfunction()

function(dlock_registry program name sessions drive has_stock memory)
  set(registry_program ${program})
  set(registry_backend ${name})
  set(registry_memory ${memory})
  if(NOT registry_may_crash)
    set(registry_may_crash false)
  endif()
  set(registry_includes "")
  set(admin make_${name}_admin)
  set(rows nullptr)
  set(stock nullptr)
  set(key_memory nullptr)
  if(has_stock)
    set(registry_includes "#include \"backends/${name}/rows/rows.h\"\n#include \"lib/rows/row_memory.h\"\n#include \"lib/stock/row_stock.h\"\n")
    set(rows make_${name}_rows)
    set(stock "stock_on<make_${name}_rows>")
  endif()
  if(has_stock AND NOT registry_stock_alone)
    set(admin "admin_on<make_${name}_admin, make_${name}_rows>")
    set(key_memory "memory_on<make_${name}_rows>")
  endif()
  set(registry_row "{\"${name}\", ${admin}, ${sessions}, ${drive}, ${stock}, ${rows}, ${key_memory}}")
  set_property(GLOBAL APPEND PROPERTY dlock_registry_rows "${registry_row}")
  set_property(GLOBAL APPEND_STRING PROPERTY dlock_registry_includes "#include \"backends/${name}/backend.h\"\n${registry_includes}")
  set(file ${CMAKE_BINARY_DIR}/registries/${program}.cpp)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/registry.cpp.in ${file} @ONLY)
  add_library(dlock_registry_${program} OBJECT ${file})
  target_link_libraries(dlock_registry_${program} PUBLIC dlock_backend_${name})
endfunction()

function(dlock_add_backend name)
  dlock_backend_library(${name} rows)
  dlock_registry(dlock ${name} open_${name}_sessions nullptr OFF 0)
endfunction()

set(dlock_keeper_memory 272)  # what a keeper needs, and 256

function(dlock_add_keeper name)
  cmake_parse_arguments(arg "STOCK;MAY_CRASH" "" "NEEDS" ${ARGN})
  get_property(modules GLOBAL PROPERTY dlock_modules_${name})
  list(JOIN modules "|" rooms)
  dlock_backend_library(${name} ${rooms})
  target_link_libraries(dlock_backend_${name} PUBLIC ${arg_NEEDS} ${CMAKE_DL_LIBS})
  foreach(module ${modules})
    add_dependencies(dlock_backend_${name} dlock-${module})
  endforeach()
  string(TOLOWER ${arg_MAY_CRASH} registry_may_crash)
  dlock_registry(dlock-${name} ${name} nullptr keep_${name}_lock ${arg_STOCK} ${dlock_keeper_memory})
  set_property(GLOBAL APPEND PROPERTY dlock_keepers ${name})
endfunction()

# Before dlock_add_keeper. The room is in the module alone; of the C++ library it may use what is in headers.
function(dlock_add_module name room)
  cmake_parse_arguments(arg "" "" "NEEDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/${room}/*.cpp)
  add_library(dlock-${room} MODULE ${sources})
  target_link_libraries(dlock-${room} PRIVATE dlock_flags ${arg_NEEDS})
  target_compile_options(dlock-${room} PRIVATE -fno-exceptions -fvisibility=hidden)
  target_link_options(dlock-${room} PRIVATE ${dlock_hardened_module_link} -static-libstdc++ -static-libgcc -Wl,--gc-sections)
  set_target_properties(dlock-${room} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/dlock)
  dlock_note_links(dlock-${room} ${name})
  install(TARGETS dlock-${room} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/dlock COMPONENT ${name})
  set_property(GLOBAL APPEND PROPERTY dlock_modules_${name} ${room})
endfunction()

function(dlock_add_stock_keeper name)
  cmake_parse_arguments(arg "" "" "NEEDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/rows/*.cpp)
  dlock_unite(sources ${sources})
  add_library(dlock_stock_${name} STATIC ${sources})
  target_link_libraries(dlock_stock_${name} PUBLIC dlock_backend_${name} ${arg_NEEDS})
  set(registry_stock_alone TRUE)
  dlock_registry(dlock-${name} ${name} nullptr nullptr ON ${dlock_keeper_memory})
  target_link_libraries(dlock_registry_dlock-${name} PUBLIC dlock_stock_${name})
endfunction()

# For the packages: what TARGET is linked from stands in a map of the linker (debian/static-built-using reads it).
function(dlock_note_links target component)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/maps/${component})
  target_link_options(${target} PRIVATE -Wl,-Map=${CMAKE_BINARY_DIR}/maps/${component}/${target}.map)
endfunction()

# libc stays shared: names of hosts are resolved by its modules.
function(dlock_link_with_names target)
  target_link_options(${target} PRIVATE ${dlock_hardened_link} -static-libstdc++ -static-libgcc -Wl,--gc-sections
    -Wl,-z,noseparate-code)
endfunction()

# The program of a keeper; called from cmd/, which knows the command line that all programs share. It is a package of its
# own unless the name of another one follows.
function(dlock_keeper_program name)
  set(component ${name})
  if(ARGC GREATER 1)
    set(component ${ARGV1})
  endif()
  add_executable(dlock-${name} ${CMAKE_CURRENT_SOURCE_DIR}/keeper_main.cpp)
  target_link_libraries(dlock-${name} PRIVATE dlock_cmd dlock_registry_dlock-${name})
  set_target_properties(dlock-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/dlock)
  if(DLOCK_STATIC AND component STREQUAL dlock)
    dlock_link_for_start(dlock-${name})
  elseif(DLOCK_STATIC)
    dlock_link_with_names(dlock-${name})
  elseif(NOT DLOCK_SANITIZE)
    target_link_options(dlock-${name} PRIVATE ${dlock_hardened_link})
  endif()
  dlock_note_links(dlock-${name} ${component})
  install(TARGETS dlock-${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/dlock COMPONENT ${component})
endfunction()

function(dlock_find_openssl)
  if(NOT TARGET dlock_shared_ssl)
    # Loaded by the programs, not linked into them: their security updates need no new dlock.
    dlock_find_library(dlock_shared_ssl libssl.so openssl/ssl.h libssl-dev)
    dlock_find_library(dlock_shared_crypto libcrypto.so openssl/ssl.h libssl-dev)
    target_link_libraries(dlock_shared_ssl INTERFACE dlock_shared_crypto)
  endif()
endfunction()

# A library of a Debian package; its absence is told by the package's name. FILE says which: libNAME.so, whose security
# updates need no new dlock, unless the manual of packagers (debian/README.source) has a reason for the archive. With a
# MODULE of pkg-config, what stands after an archive on the linker's command line is what the package says
# (Libs.private, Requires.private).
function(dlock_find_library target file header package)
  find_library(${target}_LIBRARY ${file})
  find_path(${target}_INCLUDE ${header})
  if(NOT ${target}_LIBRARY OR NOT ${target}_INCLUDE)
    message(FATAL_ERROR "${header} or ${file} is missing: apt install ${package} (all packages: scripts/packages.txt)")
  endif()
  # Imported, so that what it stands on (target_link_libraries) comes after it on every command line of the linker.
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_LIBRARY})
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
  if(ARGC GREATER 4)
    dlock_link_private(${target} ${ARGV4} ${package})
  endif()
endfunction()

function(dlock_link_private target module package)
  find_program(PKG_CONFIG_EXECUTABLE NAMES pkgconf pkg-config)
  if(NOT PKG_CONFIG_EXECUTABLE)
    message(FATAL_ERROR "pkg-config is missing: apt install pkgconf (all packages: scripts/packages.txt)")
  endif()
  find_package(PkgConfig REQUIRED QUIET)
  pkg_check_modules(${target} QUIET ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "${module}.pc is missing: apt install ${package} (all packages: scripts/packages.txt)")
  endif()
  foreach(name ${${target}_STATIC_LIBRARIES})
    if(name MATCHES "^(dl|m|pthread|rt)$")  # the C library, which is linked as the program is
      target_link_libraries(${target} INTERFACE ${name})
    elseif(NOT name IN_LIST ${target}_LIBRARIES)
      dlock_archive(${name} ${module})
      target_link_libraries(${target} INTERFACE dlock_${name})
    endif()
  endforeach()
endfunction()

# dlock_NAME: libNAME.a, which another archive stands on, unless it is there already.
function(dlock_archive name module)
  if(TARGET dlock_${name})
    return()
  endif()
  find_library(dlock_${name}_LIBRARY lib${name}.a)
  if(NOT dlock_${name}_LIBRARY)
    string(REGEX REPLACE "^libz-dev$" "zlib1g-dev" package lib${name}-dev)
    message(FATAL_ERROR
      "lib${name}.a, which ${module} stands on, is missing: apt install ${package} (all packages: scripts/packages.txt)")
  endif()
  add_library(dlock_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(dlock_${name} PROPERTIES IMPORTED_LOCATION ${dlock_${name}_LIBRARY})
endfunction()
