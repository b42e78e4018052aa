# SPDX-License-Identifier: Apache-2.0
# dlock_add_backend(NAME SCHEMES scheme...): a backend that lives inside dlock, in folder NAME; it must define
#   Result<std::unique_ptr<Backend>> make_NAME_backend(const BackendUrl&, const Runtime&)   in backends/NAME/NAME_backend.h
# and is linked as dlock_backend_NAME. One line a family in backends/CMakeLists.txt; registry.h is generated from those lines.
function(dlock_add_backend name)
  cmake_parse_arguments(arg "" "" "SCHEMES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  add_library(dlock_backend_${name} STATIC ${sources})
  target_link_libraries(dlock_backend_${name} PUBLIC dlock_lib)
  target_link_libraries(dlock_backends INTERFACE dlock_backend_${name})
  set_property(GLOBAL APPEND_STRING PROPERTY DLOCK_REGISTRY_INCLUDES "#include \"backends/${name}/${name}_backend.h\"\n")
  foreach(scheme ${arg_SCHEMES})
    set_property(GLOBAL APPEND_STRING PROPERTY DLOCK_REGISTRY_ROWS "    {\"${scheme}\", make_${name}_backend},\n")
  endforeach()
endfunction()

function(dlock_write_registry)
  get_property(DLOCK_REGISTRY_INCLUDES GLOBAL PROPERTY DLOCK_REGISTRY_INCLUDES)
  get_property(DLOCK_REGISTRY_ROWS GLOBAL PROPERTY DLOCK_REGISTRY_ROWS)
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/registry.h.in ${CMAKE_BINARY_DIR}/generated/backends/registry.h @ONLY)
endfunction()
