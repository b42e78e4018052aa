# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What scripts know of the backends, from their folders: of a new one nothing is listed twice.

# Each of backends/CMakeLists.txt.
mapfile -t all_backends < <(sed -n '/^set(dlock_all_backends$/,/^)/s/^  //p' backends/CMakeLists.txt)

# The variables with the servers that conformance runs against, without those of BACKEND... and without EXCEPT.
variables_without() { # EXCEPT BACKEND...
  local one
  for one in "${all_backends[@]}"; do
    [[ " ${*:2} " == *" $one "* ]] || sed -nE 's/^[a-z]+ *\|[^|]*\| *(DLOCK_TEST_[A-Z_0-9]+) *\|.*/\1/p' "backends/$one/conformance.txt"
  done | grep -vx "${1:-none}" | LC_ALL=C sort -u
}
