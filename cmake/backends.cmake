# SPDX-License-Identifier: Apache-2.0
# A backend is one folder and one line in backends/CMakeLists.txt:
#
#   dlock_add_backend(NAME SCHEMES scheme...)           lives inside dlock, because it needs no client library
#   dlock_add_keeper(NAME [STOCK] SCHEMES scheme... NEEDS lib...)  lives in a program of its own,
#                                                       libexec/dlock/dlock-NAME
#   dlock_add_stock_keeper(NAME SCHEMES scheme... NEEDS lib...)  only the stocks of a backend that lives inside dlock
#
# The folder's *.cpp become the library dlock_backend_NAME. NAME/NAME_backend.h must declare
#   Result<std::unique_ptr<Backend>> make_NAME_backend(const BackendUrl&, const Runtime&)
# and for a keeper also
#   Result<std::unique_ptr<KeptLock>> keep_NAME_lock(const BackendUrl&, const LockSpec&, const Runtime&)
# and with STOCK (or for a stock keeper) NAME/NAME_stock.h
#   Result<std::unique_ptr<Stock>> make_NAME_stock(const BackendUrl&, const Runtime&)
# A stock keeper's sources are in the folder NAME/stock; its NAME_stock.h declares keep_NAME_lock as well.
# The lines make the programs' registries (backends/registry.h), one definition a program: dlock_registry_PROGRAM.

function(dlock_backend_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  add_library(dlock_backend_${name} STATIC ${sources})
  target_link_libraries(dlock_backend_${name} PUBLIC dlock_lib)
  dlock_precompile(dlock_backend_${name})
endfunction()

function(dlock_registry program name keep stock schemes)
  set(registry_program ${program})
  set(registry_backend ${name})
  set(registry_rows "")
  set(registry_includes "")
  if(NOT stock STREQUAL nullptr)
    set(registry_includes "#include \"backends/${name}/${name}_stock.h\"\n")
  endif()
  foreach(scheme ${schemes})
    string(APPEND registry_rows "    {\"${scheme}\", make_${name}_backend, ${keep}, ${stock}},\n")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/registries/${program}.cpp)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/registry.cpp.in ${file} @ONLY)
  add_library(dlock_registry_${program} OBJECT ${file})
  target_link_libraries(dlock_registry_${program} PUBLIC dlock_backend_${name})
endfunction()

function(dlock_add_backend name)
  cmake_parse_arguments(arg "" "" "SCHEMES" ${ARGN})
  dlock_backend_library(${name})
  dlock_registry(dlock ${name} nullptr nullptr "${arg_SCHEMES}")
endfunction()

function(dlock_add_keeper name)
  cmake_parse_arguments(arg "STOCK" "" "SCHEMES;NEEDS" ${ARGN})
  dlock_backend_library(${name})
  target_link_libraries(dlock_backend_${name} PUBLIC ${arg_NEEDS})
  set(stock nullptr)
  if(arg_STOCK)
    set(stock make_${name}_stock)
  endif()
  dlock_registry(dlock-${name} ${name} keep_${name}_lock ${stock} "${arg_SCHEMES}")
endfunction()

function(dlock_add_stock_keeper name)
  cmake_parse_arguments(arg "" "" "SCHEMES;NEEDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/stock/*.cpp)
  add_library(dlock_stock_${name} STATIC ${sources})
  target_link_libraries(dlock_stock_${name} PUBLIC dlock_backend_${name} ${arg_NEEDS})
  dlock_precompile(dlock_stock_${name})
  dlock_registry(dlock-${name} ${name} keep_${name}_lock make_${name}_stock "${arg_SCHEMES}")
  target_link_libraries(dlock_registry_dlock-${name} PUBLIC dlock_stock_${name})
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
    target_link_options(dlock-${name} PRIVATE -static -Wl,--gc-sections -Wl,-z,noseparate-code)
  elseif(DLOCK_STATIC)
    # libc stays shared: names of hosts are resolved by its modules.
    target_link_options(dlock-${name} PRIVATE -static-libstdc++ -static-libgcc -no-pie -Wl,--gc-sections -Wl,-z,noseparate-code)
  endif()
  install(TARGETS dlock-${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/dlock COMPONENT ${component})
endfunction()

# The same keeper, and nothing but the keeper, for servers that are reached directly (lib/config/url_schemes.h): fully
# static, because a program that loads the C library takes half as long again to start. What it lacks stands in
# backends/NAME/direct/.
function(dlock_direct_keeper_program name)
  if(NOT DLOCK_STATIC)
    return()
  endif()
  file(GLOB stand_ins CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/backends/${name}/direct/*.cpp)
  add_executable(dlock-${name}-direct ${CMAKE_CURRENT_SOURCE_DIR}/direct_keeper_main.cpp ${stand_ins})
  target_link_libraries(dlock-${name}-direct PRIVATE dlock_cmd dlock_registry_dlock-${name})
  dlock_link_for_start(dlock-${name}-direct dlock-${name})
  # Of the same name as the other, so that it looks the same in a list of processes.
  set_target_properties(dlock-${name}-direct PROPERTIES OUTPUT_NAME dlock-${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/dlock/direct)
  add_dependencies(dlock-${name} dlock-${name}-direct)
  install(TARGETS dlock-${name}-direct RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/dlock/direct COMPONENT ${name})
endfunction()

# A static library of a Debian package; its absence is told by the package's name.
function(dlock_find_library target file header package)
  find_library(${target}_LIBRARY ${file})
  find_path(${target}_INCLUDE ${header})
  if(NOT ${target}_LIBRARY OR NOT ${target}_INCLUDE)
    message(FATAL_ERROR "${header} or ${file} is missing: apt install ${package} (all packages: scripts/packages.txt)")
  endif()
  # Imported, so that what it stands on (target_link_libraries) comes behind it on every command line of the linker.
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_LIBRARY})
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
endfunction()
