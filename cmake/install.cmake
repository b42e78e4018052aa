# SPDX-License-Identifier: Apache-2.0
# What stands beside the program when it is installed, and the tarball. Packages: debian/.

# Shell completions, written by dlock itself (cross-compiled: under CMAKE_CROSSCOMPILING_EMULATOR).
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
  # Debian's packages have a folder of their own, which zsh knows only in /usr. The prefix is known when it is installed.
  install(CODE "
    set(zsh site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(zsh vendor-completions)
    endif()
    file(INSTALL \"${completions}/_dlock\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh}\")" COMPONENT dlock)
  install(FILES ${completions}/dlock.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT dlock)
endif()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/dlock COMPONENT dlock)
install(FILES ${CMAKE_SOURCE_DIR}/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/dlock COMPONENT dlock)  # also in the tarball

# cmake --build --preset release --target tarball
set(tarball dlock-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
add_custom_target(tarball
  COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DNAME=${tarball} -DEPOCH=${DLOCK_RELEASE_EPOCH}
          -P ${CMAKE_CURRENT_LIST_DIR}/tarball.cmake
  DEPENDS dlock
  VERBATIM)
foreach(part man completions dlock-local)
  if(TARGET ${part})
    add_dependencies(tarball ${part})
  endif()
endforeach()
