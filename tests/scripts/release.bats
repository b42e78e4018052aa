# SPDX-License-Identifier: Apache-2.0
# scripts/release refuses what cannot be tagged, and says what to push of what can.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  tree=$BATS_TEST_TMPDIR/tree
  mkdir -p "$tree/scripts" "$tree/cmake" "$BATS_TEST_TMPDIR/bin"
  cp -r "$root"/{CHANGELOG.md,debian,man} "$tree/"
  cp "$root/cmake/version.cmake" "$tree/cmake/"
  cp "$root"/scripts/{release,compiler-cache.bash} "$tree/scripts/"
  # Packages and tarball are built elsewhere (tests/package).
  printf '#!/bin/sh\nmkdir -p "$1"\necho same >"$1/dlock_7.8.9-1_any.deb"\n' >"$tree/scripts/package"
  printf '#!/bin/sh\nmkdir -p build/release\necho all >"build/release/dlock-$(%s -P cmake/version.cmake 2>&1)-linux-any.tar.gz"\n' \
    "$(command -v cmake)" >"$BATS_TEST_TMPDIR/bin/cmake"
  chmod +x "$tree/scripts/package" "$BATS_TEST_TMPDIR/bin/cmake"
  cd "$tree" || return
  git init -q .
  sed -i 's/^set(DLOCK_LAST_VERSION .*/set(DLOCK_LAST_VERSION 7.8.9)/' cmake/version.cmake
  sed -i "0,/^## .*/s//## 7.8.9 ($(date --utc +%F))/" CHANGELOG.md
  sed -i "1s/.*/dlock (7.8.9-1) unstable; urgency=medium/; s/^ -- .*/ -- A Person <person@debian.example>  $(LC_ALL=C date --utc '+%a, %d %b %Y %T +0000')/" debian/changelog
  sed -i 's/^Maintainer: .*/Maintainer: A Person <person@debian.example>/; s,^Homepage: .*,Homepage: https://dlock.example/,' debian/control
  sed -i 's/dlock@example.org/person@debian.example/; s,https://dlock.example.org/,https://dlock.example/,' debian/{copyright,watch}
  commit
  git tag v7.8.8 # the release before
}

commit() { git add -A && git -c user.name=n -c user.email=e@example.org commit -q --allow-empty -m c; }
release() { PATH=$BATS_TEST_TMPDIR/bin:$PATH scripts/release "$@"; }

@test "what can be tagged is built, with its checksums, and what to push is said" {
  run -0 release --skip-check "$BATS_TEST_TMPDIR/out"
  [[ $output == *"git tag -s v7.8.9 $(git rev-parse HEAD)"* ]]
  [[ $output == *"git push origin v7.8.9"* ]]
  [[ $output == *"SHA256SUMS dlock_7.8.9-1_any.deb dlock-7.8.9-linux-any.tar.gz"* ]]
  cd "$BATS_TEST_TMPDIR/out"
  sha256sum -c SHA256SUMS
}

@test "each thing that is amiss is named with what to do, and nothing is built" {
  local expected change
  while read -r expected && read -r change; do
    git -C "$tree" reset -q --hard base 2>/dev/null || git -C "$tree" tag base
    eval "$change"
    [[ $change == *'# not committed' ]] || commit
    run -78 release --skip-check "$BATS_TEST_TMPDIR/out"
    echo "$change: $output"
    [[ $output == "release: "*"$expected"* ]]
    [ "${#lines[@]}" = 1 ]
    [ ! -e "$BATS_TEST_TMPDIR/out" ]
    git -C "$tree" tag -d v7.8.9 >/dev/null 2>&1 || true
  done <<'END'
the tree is not clean (?? new)
: >new # not committed
there is a tag v7.8.9: set the next version
git tag v7.8.9
the newest entry of CHANGELOG.md is '7.8.9 (2020-01-01)'
sed -i 's/^## 7.8.9 .*/## 7.8.9 (2020-01-01)/' CHANGELOG.md
the newest entry of CHANGELOG.md is 'Unreleased'
sed -i '0,/^## /s//## Unreleased\n\n&/' CHANGELOG.md
the newest entry of debian/changelog is '7.8.9-1 (2020-01-01)'
sed -i 's/^\( -- .*>\).*/\1  Wed, 01 Jan 2020 00:00:00 +0000/' debian/changelog
the newest entry of debian/changelog is '7.8.8-1 (
sed -i '1s/7.8.9/7.8.8/' debian/changelog
debian/changelog says UNRELEASED: dch -r
sed -i '1s/unstable/UNRELEASED/' debian/changelog
name two maintainers: set both
sed -i 's/^Maintainer: .*/Maintainer: B Person <person@debian.example>/' debian/control
debian/control has placeholders of example.org
sed -i 's,^Homepage: .*,Homepage: https://dlock.example.org/,' debian/control
debian/copyright has placeholders of example.org
sed -i 's,^Source: .*,Source: https://dlock.example.org/,' debian/copyright
debian/watch has placeholders of example.org
sed -i 's,https://dlock.example/tags,https://dlock.example.org/tags,' debian/watch
man/dlock.7.scd: 
sed -i '1s/.*/no title/' man/dlock.7.scd
END
}

@test "the version of the program, which is built without a history, is that of both changelogs" {
  sed -i 's/7.8.9/7.9.0/' cmake/version.cmake
  commit
  run -78 release --skip-check "$BATS_TEST_TMPDIR/out"
  [[ $output == *"today's is '7.9.0 ("* ]]
  [[ $output == *"today's is '7.9.0-1 ("* ]]
}

i_am() { printf '#!/bin/sh\necho %s\n' "$1" >"$BATS_TEST_TMPDIR/bin/id" && chmod +x "$BATS_TEST_TMPDIR/bin/id"; } # USER-ID

@test "without --skip-check the whole check has to pass, with nothing skipped" {
  i_am 0
  printf '#!/bin/sh\necho "check $* CI=$CI"\nexit 1\n' >scripts/check
  chmod +x scripts/check
  commit
  unset CI
  run -1 release "$BATS_TEST_TMPDIR/out"
  [ "$output" = 'check --all CI=true' ]
}

@test "who is not root cannot check everything, and has to say that it was done" {
  i_am 1000
  run -78 release "$BATS_TEST_TMPDIR/out"
  [[ $output == "release: only root "*"sudo scripts/release"*--skip-check* ]]
  [ "${#lines[@]}" = 1 ]
  run -0 release --skip-check "$BATS_TEST_TMPDIR/out"
}

@test "two builds that differ are no release" {
  printf '#!/bin/sh\nmkdir -p "$1"\necho "$1" >"$1/dlock_7.8.9-1_any.deb"\n' >scripts/package
  commit
  run -1 release --skip-check "$BATS_TEST_TMPDIR/out"
  [[ $output == *"two builds of dlock_7.8.9-1_any.deb differ"* ]]
  [ ! -e "$BATS_TEST_TMPDIR/out" ]
}

@test "the second build has no object of the first one, and no folder of its depth" {
  unset CCACHE_DISABLE
  export builds=$BATS_TEST_TMPDIR/builds
  sed -i '1a echo "${CCACHE_DISABLE-cached} ${TMPDIR#*/dlock-release.??????}" >>"$builds"' scripts/package
  commit
  run -0 release --skip-check "$BATS_TEST_TMPDIR/out"
  [ "$(cat "$builds")" = $'cached \n1 /other' ]
}
