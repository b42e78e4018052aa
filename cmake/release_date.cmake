# SPDX-License-Identifier: Apache-2.0
# DLOCK_RELEASE_EPOCH: SOURCE_DATE_EPOCH where it is set, else the date of the newest entry in CHANGELOG.md.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  set(DLOCK_RELEASE_EPOCH $ENV{SOURCE_DATE_EPOCH})
else()
  file(STRINGS ${CMAKE_SOURCE_DIR}/CHANGELOG.md heading REGEX "^## .*[0-9]+-[0-9]+-[0-9]+" LIMIT_COUNT 1)
  string(REGEX MATCH "[0-9]+-[0-9]+-[0-9]+" release_date "${heading}")
  execute_process(COMMAND date --utc --date=${release_date} +%s
                  OUTPUT_VARIABLE DLOCK_RELEASE_EPOCH OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
