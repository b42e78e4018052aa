# SPDX-License-Identifier: Apache-2.0
# What stands beside the program when it is installed, and the Debian packages (cmake --build --preset package --target package).

# --- who stands for the packages: whoever hands them out names himself here, or with -D ---
set(DLOCK_MAINTAINER "The dlock authors <dlock@example.org>" CACHE STRING "The maintainer that the packages name")
set(DLOCK_HOMEPAGE "https://dlock.example.org/" CACHE STRING "The homepage that the packages name")

# --- shell completions, written by dlock itself (cross-compiled: under CMAKE_CROSSCOMPILING_EMULATOR) ---
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(completions ${CMAKE_BINARY_DIR}/completions)
  set(emulator "")
  if(CMAKE_CROSSCOMPILING)
    set(emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
  endif()
  add_custom_command(
    OUTPUT ${completions}/dlock ${completions}/_dlock ${completions}/dlock.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND sh -c "out=$1; shift; \"$@\" completion bash >\"$out/dlock\" && \"$@\" completion zsh >\"$out/_dlock\" && \"$@\" completion fish >\"$out/dlock.fish\""
            sh ${completions} ${emulator} $<TARGET_FILE:dlock>
    DEPENDS dlock
    VERBATIM)
  add_custom_target(completions ALL DEPENDS ${completions}/dlock ${completions}/_dlock ${completions}/dlock.fish)
  install(FILES ${completions}/dlock DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT dlock)
  install(FILES ${completions}/_dlock DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT dlock)
  install(FILES ${completions}/dlock.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT dlock)
endif()

# --- copyright, changelogs (of the project and in Debian's form), lintian overrides, examples ---
set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc)
set(package_revision 1)
set(packaging ${CMAKE_CURRENT_LIST_DIR})
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/changelog.gz ${CMAKE_BINARY_DIR}/changelog.Debian.gz
  COMMAND sh -c "gzip -9nc \"$1\" >changelog.gz && \"$2\" $3 \"$4\" <\"$1\" >changelog.Debian && gzip -9nf changelog.Debian"
          sh ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${packaging}/debian-changelog ${package_revision} ${DLOCK_MAINTAINER}
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
  DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${packaging}/debian-changelog
  VERBATIM)
add_custom_target(changelog ALL DEPENDS ${CMAKE_BINARY_DIR}/changelog.gz ${CMAKE_BINARY_DIR}/changelog.Debian.gz)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${doc_dir}/dlock COMPONENT dlock)

# --- the directory of local:system and its group ---
install(FILES ${packaging}/debian/sysusers.conf DESTINATION lib/sysusers.d RENAME dlock.conf COMPONENT dlock)
install(FILES ${packaging}/debian/tmpfiles.conf DESTINATION lib/tmpfiles.d RENAME dlock.conf COMPONENT dlock)
set(CPACK_DEBIAN_DLOCK_PACKAGE_CONTROL_EXTRA ${packaging}/debian/postinst ${packaging}/debian/postrm ${packaging}/debian/conffiles)

# The papers of the package NAME, which holds the programs of COMPONENT.
function(dlock_package_papers name component copyright lintian)
  install(FILES ${copyright} DESTINATION ${doc_dir}/${name} RENAME copyright COMPONENT ${component})
  install(FILES ${CMAKE_BINARY_DIR}/changelog.gz ${CMAKE_BINARY_DIR}/changelog.Debian.gz DESTINATION ${doc_dir}/${name}
          COMPONENT ${component})
  install(FILES ${lintian} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${name}
          COMPONENT ${component})
endfunction()

# --- the packages: the program, and one for each keeper program ---
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT ${DLOCK_MAINTAINER})
set(CPACK_PACKAGE_VENDOR "The dlock authors")
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE ${DLOCK_HOMEPAGE})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL dlock)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE none)  # cmake/static-built-using packs again
set(CPACK_DEBIAN_PACKAGE_SOURCE dlock)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${package_revision})
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_DLOCK_PACKAGE_NAME dlock)
dlock_package_papers(dlock dlock ${packaging}/copyright ${packaging}/lintian-dlock)
if(CMAKE_CROSSCOMPILING)
  string(REGEX MATCH "^[^-]+" CPACK_DEBIAN_PACKAGE_ARCHITECTURE "${CMAKE_LIBRARY_ARCHITECTURE}")
  string(REPLACE aarch64 arm64 CPACK_DEBIAN_PACKAGE_ARCHITECTURE "${CPACK_DEBIAN_PACKAGE_ARCHITECTURE}")
endif()
# The two speak to each other: they are of one version. The libraries are found by dpkg-shlibdeps (dpkg-dev).
foreach(backend ${DLOCK_BACKENDS})
  set(folder ${CMAKE_SOURCE_DIR}/backends/${backend}/package)
  if(EXISTS ${folder})
    list(APPEND CPACK_COMPONENTS_ALL ${backend})
    list(APPEND suggests dlock-${backend})
    string(TOUPPER ${backend} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME dlock-${backend})
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "dlock (= ${PROJECT_VERSION}-${package_revision})")
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS ON)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/description)
    file(READ ${folder}/description text)
    string(STRIP "${text}" CPACK_DEBIAN_${upper}_DESCRIPTION)
    dlock_package_papers(dlock-${backend} ${backend} ${folder}/copyright ${folder}/lintian)
  endif()
endforeach()
list(JOIN suggests ", " CPACK_DEBIAN_DLOCK_PACKAGE_SUGGESTS)
# Each text begins with its own summary; one for all would be put in front of it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_DLOCK_DESCRIPTION "run a command under a lock, first come, first served
Runs a command while holding a lock, as flock(1) does, and keeps what flock
does not promise: waiters are served first come, first served, a busy lock
says who holds it and what for, every holder gets a token that only grows, a
lock can be taken in one step of a script and released in another, and a
stuck one can be freed by an operator.

This package holds the program with the backend for the locks of one machine.
It is statically linked and depends on nothing but the kernel. Locks across
machines need the package of their backend, which this one suggests.")
# What each package has from static libraries and headers alone: Static-Built-Using.
find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h)
foreach(component ${CPACK_COMPONENTS_ALL})
  get_property(CPACK_DLOCK_MAPS_${component} GLOBAL PROPERTY dlock_maps_${component})
endforeach()
set(CPACK_DLOCK_HEADERS ${TOMLPLUSPLUS_INCLUDE}/toml++/toml.h ${CLI11_INCLUDE}/CLI/CLI.hpp ${NLOHMANN_INCLUDE}/nlohmann/json.hpp)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging}/add_configuration.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${packaging}/finish_packages.cmake)
set(CPACK_DLOCK_PACKAGING ${packaging})

# Two builds of one release are the same file: what is packed carries the date of the release.
file(WRITE ${CMAKE_BINARY_DIR}/cpack_project.cmake "if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})\n  set(ENV{SOURCE_DATE_EPOCH} ${DLOCK_RELEASE_EPOCH})\nendif()\n")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/cpack_project.cmake)
include(CPack)

# cmake --build --preset package --target tarball
set(tarball dlock-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
add_custom_target(tarball
  COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DNAME=${tarball} -DEPOCH=${DLOCK_RELEASE_EPOCH}
          -P ${packaging}/tarball.cmake
  DEPENDS dlock changelog
  VERBATIM)
foreach(part man completions dlock-local)
  if(TARGET ${part})
    add_dependencies(tarball ${part})
  endif()
endforeach()
