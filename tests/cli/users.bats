# SPDX-License-Identifier: Apache-2.0
# The locks of one machine and its users: whose they are, where they lie, who may read them.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }

@test "inspect: what may not be read is 77 with its number, not free" {
  local command
  need_root
  open_world
  dlock run a -- true
  dlock run b -- true
  chmod 755 "$locks"
  run -77 nobody dlock inspect
  [[ "$output" == "dlock: 2 locks in local:$locks cannot be read"* ]]
  run -77 nobody dlock inspect --json
  run -77 nobody dlock inspect a
  run -77 nobody dlock inspect 'a*'
  # A lock file in a folder of somebody else's: flock(2) may be held on it.
  mkdir -m 700 folder
  local command
  for command in inspect 'force-release --yes'; do
    read -ra words <<<"$command"
    run -77 nobody dlock "${words[@]}" "$PWD/folder/file"
    [[ "$output" == *"who has $PWD/folder/file locked with flock(2) cannot be seen: Permission denied"* ]]
  done
  chmod 700 "$locks"
  run -77 nobody dlock inspect
}

@test "with the HOME of another user the configuration there is not asked to be opened, nor is /tmp to be closed" {
  need_root
  open_world
  install -d -m 700 "$HOME/.config" "$HOME/root"
  run -77 nobody env HOME="$HOME/root" dlock run k -- true
  [[ "$output" == *"HOME is another user's: unset it"* ]]
  run nobody env HOME="$HOME/root" dlock inspect # who looks is told, and looks
  [[ "$output" == *"(left out); HOME is another user's: unset it"* ]]
  mkdir -m 1777 "$BATS_TEST_TMPDIR/shared"
  run -78 dlock run -b "local:$BATS_TEST_TMPDIR/shared" k -- true
  [[ "$output" == *"mkdir -m 700 $BATS_TEST_TMPDIR/shared/dlock" && "$output" != *chmod* ]]
  run -71 dlock run "$BATS_TEST_TMPDIR/nowhere/x.lock" -- true
  [[ "$output" == *"mkdir -p" ]]
}

# Runs a script of the test's where /var/lib and /etc/passwd are its own: root's directory and local:system are empty, and
# anna (4001) and bert (4002) have homes in the test's folder.
elsewhere() { # SCRIPT ARGUMENT...
  need_root
  open_world
  local user
  printf 'root:x:0:0::/root:/bin/sh\n' >"$BATS_TEST_TMPDIR/passwd"
  for user in anna:4001 bert:4002; do
    printf '%s:x:%s:%s::%s:/bin/sh\n' "${user%:*}" "${user#*:}" "${user#*:}" "$BATS_TEST_TMPDIR/${user%:*}" >>"$BATS_TEST_TMPDIR/passwd"
    install -d -m 700 -o "${user#*:}" "$BATS_TEST_TMPDIR/${user%:*}"
  done
  unset DLOCK_BACKEND
  "${apart[@]}" bash -c 'mount --bind "$HOME/passwd" /etc/passwd && mount -t tmpfs -o mode=755 none /var/lib || exit 42
    exec "$@"' - "$@"
}
# In the scripts: as USER COMMAND... with the home that the user has. Members of the group dlock have 4000 besides.
as_a_user() {
  script as <<'SCRIPT'
#!/bin/bash
id=4001
[ "$1" = anna ] || id=4002
exec setpriv --reuid="$id" --regid="$id" ${group:---clear-groups} -- env HOME="${HOME%/*}/${HOME##*/}/$1" "${@:2}"
SCRIPT
}

# bats test_tags=all
@test "two users' locks of one name are two locks: each is shown with its directory, and root sees all, each with whose it is" {
  mounts_apart || skip "no right to mount"
  as_a_user
  script scene <<'SCRIPT'
#!/bin/bash
set -e
mkfifo fifo
chmod 666 fifo
as anna dlock hold mine <fifo >held &
exec 3>fifo
until [ -s held ]; do sleep 0.1; done
as bert dlock run -n mine -- true
as bert dlock inspect mine
as anna dlock inspect mine
dlock inspect mine
dlock inspect
dlock inspect --json
SCRIPT
  run -0 elsewhere scene
  [ "${lines[0]}" = "mine  free  local:$BATS_TEST_TMPDIR/bert/.local/state/dlock" ]
  [ "${lines[1]}" = "mine  held, exclusive  local:$BATS_TEST_TMPDIR/anna/.local/state/dlock" ]
  [[ "${lines[2]}" == "  holder  anna@"* ]]
  [ "${lines[3]}" = "mine  free  local:/var/lib/dlock" ]
  [[ "${lines[4]}" == *"no lock of that name was ever taken; one of that name is held in local:$BATS_TEST_TMPDIR/anna/.local/state/dlock, by anna" ]]
  [ "${lines[5]}" = "mine  held, exclusive  local:$BATS_TEST_TMPDIR/anna/.local/state/dlock of anna" ]
  jq -e '.directory_of == "anna" and .key == "mine"' <<<"${lines[7]}"
}

@test "root frees a user's lock: by its key alone it is told where that lock is, by its directory it frees it" {
  mounts_apart || skip "no right to mount"
  as_a_user
  script scene <<'SCRIPT'
#!/bin/bash
mkfifo fifo
chmod 666 fifo
as anna dlock hold mine <fifo >held 2>lost &
exec 3>fifo
until [ -s held ]; do sleep 0.1; done
store=local:$HOME/anna/.local/state/dlock
dlock revoke mine
echo "asked: $?"
dlock force-release --yes mine
echo "by its key: $?"
dlock run -n -b "$store" other -- true
echo "run: $?"
dlock force-release --yes -b "$store" mine
echo "there: $?"
wait
cat lost
as anna dlock run -n mine -- true
echo "anna: $?"
dlock force-release --yes mine
echo "free: $?"
stat -c %u "$HOME"/anna/.local/state/dlock/*.lock
SCRIPT
  run -0 elsewhere scene
  local store=local:$BATS_TEST_TMPDIR/anna/.local/state/dlock
  [[ "$output" == *"mine is free in local:/var/lib/dlock, but held in $store of anna"*"dlock revoke --backend $store mine"*"asked: 75"* ]]
  [[ "$output" == *"dlock force-release --yes --backend $store mine"*"by its key: 75"*"is not safe"*"run: 78"* ]]
  [[ "$output" == *"mine is free now; it was held by anna@"*"there: 0"*"LOST mine: force-released by root@"*"anna: 0"* ]]
  [[ "$output" == *"free: 0"*4001 ]]
}

@test "local:system: whoever is in its group shares its locks; others are 77, and without the package it is 78" {
  mounts_apart || skip "no right to mount"
  as_a_user
  script scene <<'SCRIPT'
#!/bin/bash
export DLOCK_BACKEND=local:system
dlock run k -- true
echo "missing: $?"
install -d -m 755 /var/lib/dlock
install -d -m 3770 -g 4000 /var/lib/dlock/system
as anna dlock run k -- true
echo "no member: $?"
export group=--groups=4000
mkfifo fifo
chmod 666 fifo
as anna dlock hold k <fifo >held &
exec 3>fifo
until [ -s held ]; do sleep 0.1; done
as bert dlock run -n k -- true
echo "busy: $?"
as bert dlock inspect k
exec 3>&-
wait
as bert dlock run k -- true
echo "free: $?"
SCRIPT
  run -0 elsewhere scene
  [[ "$output" == *"there is no /var/lib/dlock/system, which local:system means"*"missing: 78"* ]]
  [[ "$output" == *"adduser USER dlock"*"no member: 77"* ]]
  [[ "$output" == *"k is held by anna@"*"busy: 75"* ]]
  [[ "$output" == *"k  held, exclusive  local:/var/lib/dlock/system"* ]]
  [[ "$output" == *"free: 0" ]]
}

@test "a directory of a group: its members share fences too, whoever made the first, and no other may have made their folder" {
  need_root
  as_a_user
  chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/work"
  open_world
  local group=--groups=4000
  export group
  use "local:$PWD/shared"
  install -d -m 3770 -g 4000 shared
  run -0 as anna dlock fence disk 5
  run -0 as bert dlock fence disk 6
  run -79 as anna dlock fence disk 5
  run -0 dlock fence disk 7
  run -79 as bert dlock fence disk 6
  run -0 as bert dlock fence tape 1
  [ "$(stat -c '%a %g' shared/fence)" = "3770 4000" ]
  chgrp 4002 shared/fence
  run -78 as bert dlock fence disk 9
  [[ "$output" == *"$PWD/shared/fence is not safe: "* ]]
}

@test "a lock directory that is named and not there is made, which is said once; nothing is made above it, nor by looking" {
  run -0 dlock inspect -b "local:$PWD/typo"
  run -79 dlock check -b "local:$PWD/typo" k 5
  run -79 dlock release -b "local:$PWD/typo" --owner 00000000000000000000000000000000 k
  run -0 dlock gc -b "local:$PWD/typo"
  [ ! -e typo ]
  run -0 dlock run -b "local:$PWD/typo" k -- true
  [[ "$output" == "dlock: the lock directory $PWD/typo did not exist and was created"* ]]
  run -0 dlock run -b "local:$PWD/typo" k -- true
  [ "$output" = "" ]
  run -78 dlock run -b "local:$PWD/no/where" k -- touch ran
  [[ "$output" == *"cannot make the lock directory $PWD/no/where: there is no $PWD/no"*"mkdir -p $PWD/no"* ]]
  [ ! -e no ]
  [ ! -e ran ]
}

@test "a umask takes nothing of what their owner needs: directories and files of locks" {
  need_root
  open_world
  install -d -o nobody -m 755 home
  unset DLOCK_BACKEND
  local umask
  for umask in 777 022; do
    run -0 nobody HOME="$PWD/home" sh -c "umask $umask && dlock run k -- echo ran && dlock fence disk 5 && dlock run k -- sh -c umask"
    [[ "$output" == *ran*"0$umask" ]]
  done
  [ "$(stat -c %a home/.local home/.local/state/dlock | sort -u)" = 700 ]
}

@test "without a home the three remedies are named, and a KEY that is a path is locked all the same" {
  need_root
  open_world
  unset DLOCK_BACKEND
  : >shared
  chmod 666 shared
  run -77 nobody HOME=/nonexistent dlock run k -- true
  [[ "$output" == *"/nonexistent"*"set HOME or XDG_STATE_HOME"*"-b local:/dir"*"-b local:system"* ]]
  run -71 nobody HOME=/dev/null dlock run k -- true # as many services have it
  [[ "$output" == *"/dev/null/"*"Not a directory"*"set HOME or XDG_STATE_HOME"*"-b local:/dir"*"-b local:system"* ]]
  run -71 dlock run -b "local:$PWD/shared/locks" k -- true
  [[ "$output" == *"Not a directory"*"something above it is a file"* ]]
  run -0 nobody HOME=/nonexistent dlock run "$PWD/shared" -- echo ran
  [ "$output" = ran ]
  start flock -o "$PWD/shared" sleep 300
  local flock=$started_pid
  flocked() { ! flock -n "$PWD/shared" true; }
  wait_until flocked
  run -75 nobody HOME=/nonexistent dlock run -n "$PWD/shared" -- true
  [[ "$output" == *"$PWD/shared is held by"* ]]
  run -0 nobody HOME=/nonexistent dlock inspect "$PWD/shared"
  [[ "$output" == *held* ]]
  printf '#!/bin/sh\nexec env HOME=/nonexistent dlock run -q "$1" -- true\n' >"$BATS_TEST_TMPDIR/bin/waiter"
  chmod 755 "$BATS_TEST_TMPDIR/bin/waiter"
  start_watched end setpriv --reuid=65534 --regid=65534 --clear-groups -- waiter "$PWD/shared"
  waits() { dlock inspect --json "$PWD/shared" | jq -e '.waiters | length == 1' >/dev/null; }
  wait_until waits
  kill -KILL "$flock"
  [ "$(how_ended end)" = "exit 0" ]
  : >own
  chown 65534 own
  run -78 nobody HOME=/nonexistent dlock acquire --ttl 1m "$PWD/own"
  [[ "$output" == *"only while a process has it open"* ]]
  run -0 flock -n own true
}

@test "--report and --events follow no link of another user in a folder that all share; one's own, a pipe and /dev/stdout they do" {
  need_root
  local links=$BATS_TEST_TMPDIR/shared place
  mkdir -m 1777 "$links"
  echo precious >victim
  ln -s "$PWD/victim" "$links/evil"
  ln -s evil "$links/chain"
  chown -h 65534 "$links/evil"
  for place in evil chain; do
    run -77 dlock run --report "$links/$place" k -- touch ran
    [[ "$output" == *"cannot write the report $links/$place: Permission denied"* ]]
    run -77 dlock run --events "$links/$place" k -- touch ran
    [[ "$output" == *"$links/$place"*"Permission denied"* ]]
  done
  [ "$(cat victim)" = precious ]
  [ ! -e ran ]
  ln -s "$PWD/mine" "$links/own"
  run -0 dlock run --report "$links/own" --events "$links/own" k -- true
  [ -s mine ]
  run -0 dlock run --report /dev/stdout k -- true
  [[ "$output" == '{'* ]]
}
