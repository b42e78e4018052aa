# SPDX-License-Identifier: Apache-2.0
# What a build is called: after the last tag, or after the release that is being made.
bats_require_minimum_version 1.5.0

version_of() { cmake -DFOLDER="$1" -P "$BATS_TEST_DIRNAME/../../cmake/version.cmake" 2>&1; }

@test "a build has the version of the last tag of its history; without git or a tag that of cmake/version.cmake" {
  cd "$BATS_TEST_TMPDIR"
  fallback=$(version_of "$PWD")
  [[ $fallback =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
  git init -q .
  commit() { git -c user.name=n -c user.email=e@example.org commit -q --allow-empty -m "$1"; }
  commit first
  [ "$(version_of "$PWD")" = "$fallback" ]
  git tag v7.8.9
  commit second
  git tag not-a-version
  git tag v8-rc1
  commit third
  [ "$(version_of "$PWD")" = 7.8.9 ]
}

@test "the next release has the version of cmake/version.cmake before it has its tag" {
  mkdir -p "$BATS_TEST_TMPDIR/cmake"
  sed 's/^set(DLOCK_LAST_VERSION .*/set(DLOCK_LAST_VERSION 7.10.0)/' "$BATS_TEST_DIRNAME/../../cmake/version.cmake" >"$BATS_TEST_TMPDIR/cmake/version.cmake"
  cd "$BATS_TEST_TMPDIR"
  git init -q .
  git -c user.name=n -c user.email=e@example.org commit -q --allow-empty -m first
  git tag v7.9.0
  [ "$(cmake -P cmake/version.cmake 2>&1)" = 7.10.0 ]
  git tag -d v7.9.0 >/dev/null
  git tag v7.11.0
  [ "$(cmake -P cmake/version.cmake 2>&1)" = 7.11.0 ]
}
