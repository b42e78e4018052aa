# SPDX-License-Identifier: Apache-2.0
# ROOM/scripts/NAME.lua or .sql of a backend becomes the constant ROOM_scripts::kName of the header backends/BACKEND/ROOM/scripts.h,
# which lies below build/PRESET/generated. In a script a line of its own, "--- include parts/PART.lua", stands for that
# file, the first time; "--- after OTHER.lua" only says after which text the program puts it (scripts/lint lua).
# A comment has a line of its own, no string has a ' in it, and no statement begins with a parenthesis. Of NAME.sql only
# the comments are left out.

# Sets OUT to what is sent to the server: FILE with its parts, without comments and without blanks that mean nothing.
function(dlock_lua_text out file)
  cmake_path(GET file PARENT_PATH folder)
  file(READ ${file} text)
  set(text "\n${text}")
  set(included "")
  while(text MATCHES "\n--- include ([^\n]+)")
    set(line "${CMAKE_MATCH_0}")
    set(name "${CMAKE_MATCH_1}")
    set(part "")
    if(NOT name IN_LIST included)
      list(APPEND included ${name})
      file(READ ${folder}/${name} part)
    endif()
    string(FIND "${text}" "${line}\n" at)
    string(SUBSTRING "${text}" 0 ${at} before)
    string(LENGTH "${before}${line}" at)
    string(SUBSTRING "${text}" ${at} -1 behind)
    set(text "${before}\n${part}${behind}")
  endwhile()
  string(REGEX REPLACE "\n *--[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n[ \n]*" "\n" text "${text}")
  if(text MATCHES "\n\\(")
    message(FATAL_ERROR "${file}: a line that begins with a parenthesis, here or in what it includes")
  endif()
  string(REGEX REPLACE "[ \n]*('[^']*'|[-=,+*/%<>~#(){}]|\\.\\.)[ \n]*" "\\1" text "${text}")
  if(text MATCHES "--")
    message(FATAL_ERROR "${file}: two minus signs in the middle of a line, here or in what it includes")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(dlock_sql_text out file)
  file(READ ${file} text)
  string(REGEX REPLACE "\n *--[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "^\n+" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Of LUA..., the scripts of one room and their parts.
function(dlock_write_lua_header backend room)
  set(constants "")
  foreach(file ${ARGN})
    cmake_path(GET file STEM name)
    cmake_path(GET file EXTENSION LAST_ONLY language)
    string(SUBSTRING ${language} 1 -1 word)
    cmake_language(CALL dlock_${word}_text text ${file})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/backends/${backend}/${room}/scripts/${name}${language} CONTENT "@text@" @ONLY)
    string(REPLACE "_" ";" words ${name})
    set(constant "k")
    foreach(word ${words})
      string(SUBSTRING ${word} 0 1 first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND constant ${first}${rest})
    endforeach()
    string(APPEND constants "inline constexpr char ${constant}[] = R\"text(${text})text\";\n")
  endforeach()
  set(header "// Made of backends/${backend}/${room}/scripts/* by cmake/lua.cmake.
#pragma once

namespace dlock::${backend}::${room}_scripts {

${constants}
}  // namespace dlock::${backend}::${room}_scripts
")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/backends/${backend}/${room}/scripts.h CONTENT "@header@" @ONLY)
endfunction()

# The headers of all rooms of a backend that have scripts.
function(dlock_embed_lua target backend)
  set(house ${CMAKE_CURRENT_SOURCE_DIR}/${backend})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${house}/*.lua ${house}/*.sql)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${all})
  file(GLOB rooms RELATIVE ${house} ${house}/*/scripts)
  foreach(scripts ${rooms})
    cmake_path(GET scripts PARENT_PATH room)
    file(GLOB files ${house}/${scripts}/*.lua ${house}/${scripts}/*.sql)
    dlock_write_lua_header(${backend} ${room} ${files})
  endforeach()
  target_include_directories(${target} PUBLIC ${CMAKE_BINARY_DIR}/generated)
endfunction()
