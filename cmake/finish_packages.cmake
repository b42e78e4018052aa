# SPDX-License-Identifier: Apache-2.0
# Run by cpack when the packages are written: gives each its field Static-Built-Using.
foreach(package ${CPACK_PACKAGE_FILES})
  get_filename_component(name ${package} NAME)
  string(REGEX REPLACE "_.*" "" component ${name})
  string(REGEX REPLACE "^dlock-" "" component ${component})
  execute_process(COMMAND ${CPACK_DLOCK_PACKAGING}/static-built-using ${package} ${CPACK_DLOCK_HEADERS}
                          -- ${CPACK_DLOCK_MAPS_${component}}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
