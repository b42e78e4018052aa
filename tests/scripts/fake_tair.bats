#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0

@test "the stand-in for a Tair server answers byte for byte as the module does" {
  run "$BATS_TEST_DIRNAME/../support/fake_tair_test.py"
  echo "$output"
  [ "$status" -eq 0 ]
}
