# SPDX-License-Identifier: Apache-2.0
# The Debian packages as an administrator meets them: installed, used, removed. Needs root, since dpkg does.
bats_require_minimum_version 1.5.0

setup_file() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  build=${DLOCK_BUILD:-$root/build/ci}
  folder=${DLOCK_PACKAGES:-$root/build/packages}
  package=$(find "$folder" -maxdepth 1 -name 'dlock_*.deb' | head -n 1)
  export root build folder package
}

load ../support/mounts
load ../support/stores

# Those with a keeper program: for each one a URL where nobody listens.
declare -gA unreachable
while read -r family url; do unreachable[$family]=$url; done < <(first_url_of_each 127.0.0.1:1)
package_of() { find "$folder" -maxdepth 1 -name "dlock-${1}_*.deb" | head -n 1; } # FAMILY

setup() {
  unset "${!DLOCK_@}"
  packages=("$package")
  for family in "${!unreachable[@]}"; do packages+=("$(package_of "$family")"); done
  for file in "${packages[@]}"; do
    [ -f "$file" ] || { echo "no package: scripts/package build/packages"; return 1; }
  done
  [ "${#packages[@]}" = "$(find "$folder" -maxdepth 1 -name '*.deb' | wc -l)" ] || { echo "a store without a URL in this file"; return 1; }
}

teardown() {
  families=("${!unreachable[@]}")
  if [ "${installed-}" ]; then dpkg --purge "${families[@]/#/dlock-}" dlock; fi
}

files_of() { dpkg-deb -c "$1" | grep -v '/$' | sed 's#.* \./##' | LC_ALL=C sort; }

# Unpacks the packages where nothing else is; `tree` is then their root.
unpack() { # PACKAGE...
  local file
  tree=$BATS_TEST_TMPDIR/tree
  for file in "$@"; do dpkg-deb -x "$file" "$tree"; done
}

@test "the tarball has its checksum, is the same each time, and runs where it is unpacked" {
  cmake --build "$build" --target tarball >/dev/null
  cd "$build"
  local tarball
  tarball=$(echo dlock-*-linux-*.tar.gz)
  before=$(sha256sum "$tarball")
  cmake --build "$build" --target tarball >/dev/null
  [ "$(sha256sum "$tarball")" = "$before" ]
  sha256sum -c "$tarball.sha256"
  tar -xzf "$tarball" -C "$BATS_TEST_TMPDIR"
  local dlock=$BATS_TEST_TMPDIR/${tarball%.tar.gz}/bin/dlock
  mkdir -m 700 "$BATS_TEST_TMPDIR/locks"
  export DLOCK_BACKEND=local:$BATS_TEST_TMPDIR/locks
  [ "$("$dlock" run k -- printenv DLOCK_KEY)" = k ]
  "$dlock" stock create phone --quantity 1
  # Where zsh looks below /usr/local; vendor-completions it knows only in /usr.
  [ -s "$BATS_TEST_TMPDIR/${tarball%.tar.gz}/share/zsh/site-functions/_dlock" ]
}

@test "the package is named as Debian names it and depends on nothing but what makes its group" {
  [ "$(basename "$package")" = "dlock_$(dpkg-deb -f "$package" Version)_$(dpkg --print-architecture).deb" ]
  [ "$(dpkg-deb -f "$package" Package)" = dlock ]
  [ "$(dpkg-deb -f "$package" Depends)" = passwd ]
  run -0 dpkg-deb -I "$package" postinst
  [[ $output == *'  groupadd '* ]]
  [[ "$(dpkg-deb -f "$package" Homepage)" == https://* ]]
  unpack "$package"
  run ldd "$tree/usr/bin/dlock"
  [[ $output == *"not a dynamic executable"* || $output == *"statically linked"* ]]
}

@test "the package has the program, a configuration, its pages, its completions and its papers, and nothing else" {
  [ "$(files_of "$package" | grep -v ^usr/share/doc/dlock/examples/)" = "etc/dlock/config.toml
usr/bin/dlock
usr/lib/sysusers.d/dlock.conf
usr/lib/tmpfiles.d/dlock.conf
usr/libexec/dlock/dlock-local
usr/share/bash-completion/completions/dlock
usr/share/doc/dlock/changelog.Debian.gz
usr/share/doc/dlock/changelog.gz
usr/share/doc/dlock/copyright
usr/share/fish/vendor_completions.d/dlock.fish
usr/share/lintian/overrides/dlock
usr/share/man/man1/dlock-stock.1.gz
usr/share/man/man1/dlock.1.gz
usr/share/man/man5/dlock-json.5.gz
usr/share/man/man5/dlock.toml.5.gz
usr/share/man/man7/dlock.7.gz
usr/share/zsh/vendor-completions/_dlock" ]
}

@test "its configuration sends events to the journal, and what an administrator makes of it stays" {
  [ "$(dpkg-deb -I "$package" conffiles)" = /etc/dlock/config.toml ]
  unpack "$package"
  run -0 "$tree/usr/bin/dlock" config check --strict -C "$tree/etc/dlock/config.toml"
  run -0 "$tree/usr/bin/dlock" config show -C "$tree/etc/dlock/config.toml"
  [[ $output == *"events"*"journald"*"/etc/dlock/config.toml:"* ]]
}

has_nothing_but() { # FAMILY PROGRAM... SUMMARY
  local file family=$1 summary=${*: -1}
  file=$(package_of "$family")
  [ "$(files_of "$file")" = "$(printf 'usr/libexec/dlock/%s\n' "${@:2:$#-2}")
usr/share/doc/dlock-$family/changelog.Debian.gz
usr/share/doc/dlock-$family/changelog.gz
usr/share/doc/dlock-$family/copyright
usr/share/lintian/overrides/dlock-$family
usr/share/man/man7/dlock-$family.7.gz" ]
  [ "$(basename "$file")" = "dlock-${family}_$(dpkg-deb -f "$package" Version)_$(dpkg --print-architecture).deb" ]
  run -0 dpkg-deb -I "$file"
  [[ $output == *"Package: dlock-$family"* ]]
  [[ $output == *"Description: run a command under a lock kept in $summary"* ]]
}
@test "dlock-redis has its keeper program, the module for TLS, its page and its papers, and nothing else" {
  has_nothing_but redis dlock-redis dlock-tls.so Redis
}
@test "dlock-mysql has its keeper program, its page and its papers, and nothing else" {
  has_nothing_but mysql dlock-mysql 'MySQL or MariaDB'
}
@test "dlock-postgres has its keeper program, its page and its papers, and nothing else" {
  has_nothing_but postgres dlock-postgres PostgreSQL
}
@test "dlock-zookeeper has its keeper program, its page and its papers, and nothing else" {
  has_nothing_but zookeeper dlock-zookeeper ZooKeeper
}

@test "each depends on the dlock of its version and on the libraries that it loads; the C++ library is in it" {
  for family in "${!unreachable[@]}"; do
    depends=$(dpkg-deb -f "$(package_of "$family")" Depends)
    [[ ", $depends," == *", dlock (= $(dpkg-deb -f "$package" Version)),"* ]]
    rm -rf "$BATS_TEST_TMPDIR/tree"
    unpack "$(package_of "$family")"
    for library in $(objdump -p "$tree/usr/libexec/dlock"/dlock-* | sed -nE 's/^ *NEEDED +//p'); do
      # The package of a library by the file; /lib is a link to /usr/lib.
      path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
      owner=$(dpkg-query -S "$path" "/usr$path" 2>/dev/null | sed -n '1s/:.*//p')
      [ "$owner" ] || { echo "no package has $library"; return 1; }
      [[ ", $depends," == *", $owner"[\ ,]* ]] || { echo "$library is of $owner, and Depends has: $depends"; return 1; }
    done
    run ! grep -F 'stdc++' <<<"$depends"
  done
}

@test "everything in the packages belongs to root and is writable by root alone" {
  for file in "${packages[@]}"; do
    run bash -c 'dpkg-deb -c "$1" | grep -vE "^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) root/root "' sh "$file"
    [ "$output" = "" ]
  done
}

@test "without its package a backend is not installed, which is said before anything runs" {
  unpack "$package"
  for family in "${!unreachable[@]}"; do
    # In a place of its own the program has no other libexec than that of the system.
    [ ! -e "/usr/libexec/dlock/dlock-$family" ] || skip "another dlock-$family is installed"
    for command in "run k -- touch $BATS_TEST_TMPDIR/ran" "inspect k"; do
      # shellcheck disable=SC2086  # words
      run -78 "$tree/usr/bin/dlock" ${command/ / -b ${unreachable[$family]} }
      [[ $output == *"backend '$family' is not installed"* ]]
      [[ $output == *"apt install dlock-$family"* ]]
    done
  done
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "unpacked side by side, dlock finds the keeper programs and says what the server does" {
  unpack "${packages[@]}"
  # Nobody listens at port 1: unreachable is an answer of the keeper program, not of its absence.
  for url in "${unreachable[@]}"; do
    for command in "run --wait 1s k -- touch $BATS_TEST_TMPDIR/ran" "inspect --connect-timeout 1s k"; do
      # shellcheck disable=SC2086  # words
      run -69 "$tree/usr/bin/dlock" ${command/ / -b $url }
      [[ $output == *"127.0.0.1:1"* ]]
    done
  done
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "a tree installed by cmake has the keeper programs where dlock looks" {
  DESTDIR=$BATS_TEST_TMPDIR/stage cmake --install "$build" >/dev/null
  [ ! -e "$BATS_TEST_TMPDIR/stage/etc" ]
  for url in "${unreachable[@]}"; do
    run -69 "$BATS_TEST_TMPDIR/stage/usr/bin/dlock" run -b "$url" --wait 1s k -- true
    [[ $output == *"127.0.0.1:1"* ]]
  done
}

@test "installed, it runs a command under a lock, and removed it is gone" {
  [ "$(id -u)" = 0 ] || skip "dpkg needs root"
  [ ! -e /usr/bin/dlock ] || skip "another dlock is installed in /usr/bin"
  installed=yes
  # Its configuration would hold for every dlock of this machine, those of other tests, too.
  dpkg --path-exclude='/etc/dlock/*' -i "$package"
  [ "$(/usr/bin/dlock run -b "local:$BATS_TEST_TMPDIR/locks" works -- sh -c 'echo "$DLOCK_KEY"')" = works ]
  [ "$(stat -c '%a %U %G' /var/lib/dlock /var/lib/dlock/system)" = $'755 root root\n3770 root dlock' ]
  [ "$(/usr/bin/dlock run -b local:system works -- sh -c 'echo "$DLOCK_STORE"')" = local:/var/lib/dlock/system ]
  version=$(dpkg-deb -f "$package" Version)
  [[ "$(/usr/bin/dlock --version)" == *"${version%-*}"* ]] # without the revision of the package
  dpkg --verify dlock
  if command -v man >/dev/null; then man -w 1 dlock; fi
  bash -c 'source /usr/share/bash-completion/completions/dlock && complete -p dlock'
  for family in "${!unreachable[@]}"; do
    dpkg -i "$(package_of "$family")"
    dpkg --verify "dlock-$family"
    run -69 /usr/bin/dlock run -b "${unreachable[$family]}" --wait 1s k -- true
    dpkg --purge "dlock-$family"
    run -78 /usr/bin/dlock run -b "${unreachable[$family]}" --wait 1s k -- true
    [[ $output == *"apt install dlock-$family"* ]]
  done
  dpkg --purge dlock
  installed=
  [ ! -e /usr/bin/dlock ]
  run dpkg-query -W -f='${db:Status-Status}' dlock
  [ "$output" != installed ]
}

@test "purged, it leaves no file of a free lock; what is held, what has a lease, fences and stocks stay" {
  [ "$(id -u)" = 0 ] || skip "dpkg needs root"
  [ ! -e /usr/bin/dlock ] || skip "another dlock is installed in /usr/bin"
  mounts_apart || skip "no right to mount"
  installed=yes
  mkdir -p /var/lib/dlock
  "${apart[@]}" bash -euc '
    mount -t tmpfs none /var/lib/dlock # not the locks of this machine
    dpkg --path-exclude="/etc/dlock/*" -i "$1"
    export DLOCK_BACKEND=local:system
    /usr/bin/dlock run past -- true
    /usr/bin/dlock run --at-least 1ms ended -- true
    /usr/bin/dlock acquire --ttl 1h leased
    /usr/bin/dlock fence resource 7
    /usr/bin/dlock stock create phone --quantity 1
    DLOCK_BACKEND=local:/var/lib/dlock /usr/bin/dlock run past -- true
    /usr/bin/dlock run held -- dpkg --purge dlock
    cd /var/lib/dlock
    find . -type f ! -name "*.lock" | cut -d/ -f 3 | sort -u
    find . -name "*.lock" -exec head -c 288 {} + | tr -d "\0" | grep -aoE "held|leased|past|ended" | sort
  ' sh "$package" >"$BATS_TEST_TMPDIR/left"
  installed=
  tail -n +2 "$BATS_TEST_TMPDIR/left"
  [ "$(tail -n 4 "$BATS_TEST_TMPDIR/left")" = $'fence\nstock.db\nheld\nleased' ]
}
