# SPDX-License-Identifier: Apache-2.0
# The local backend when its files are damaged, removed or replaced, and when the system refuses what it needs.
load ../support/cli

setup() {
  set_world
  script_work
}
teardown() {
  [ ! -e "$BATS_TEST_TMPDIR/disk/mounted" ] || umount "$BATS_TEST_TMPDIR/disk"
  end_world
}

lock_file() { echo "$locks"/*.lock; }

@test "the lock file unlinked under a holder: the holder is lost, never two who believe in it" {
  start_watched end bash -c 'exec dlock run k -- work cmd 2>err'
  wait_until filled cmd.pid
  rm "$(lock_file)"
  [ "$(how_ended end)" = "exit 79" ]
  [[ "$(cat err)" == *LOST*removed* ]]
  ended "$(pid_of cmd)"
  run -0 dlock run -n k -- true
}

@test "the lock file replaced under a holder: the holder is lost" {
  start_watched end dlock run -q k -- work cmd
  wait_until filled cmd.pid
  cp "$(lock_file)" copy
  mv copy "$(lock_file)"
  [ "$(how_ended end)" = "exit 79" ]
  ended "$(pid_of cmd)"
}

@test "the lock file unlinked under waiters: they go on with the new one, one at a time" {
  start_watched end dlock run -q k -- work cmd
  wait_until filled cmd.pid
  local i
  for i in 1 2 3; do start dlock run -q k -- bash -c "mkdir alone || echo overlap >>order; echo $i >>order; rmdir alone"; done
  wait_until has 3 waiters k
  rm "$(lock_file)"
  [ "$(how_ended end)" = "exit 79" ]
  wait_until lines_in order 3
  run -1 grep overlap order
}

@test "the lock directory removed under a holder: 79, and the directory is made anew" {
  start_watched end dlock run -q k -- work cmd
  wait_until filled cmd.pid
  rm -r "$locks"
  [ "$(how_ended end)" = "exit 79" ]
  run -0 dlock run -n k -- true
}

watches() { readlink "/proc/$1"/fd/* | grep -q inotify; } # PID
has_opened_lock_file() { readlink "/proc/$1"/fd/* | grep -q '\.lock$'; } # PID

# bats test_tags=all
@test "the lock directory, or one above it, moved under a holder that watches it: 79, and the next one gets the lock" {
  local moved
  for moved in a a/b/locks; do
    mkdir -p a/b/locks
    DLOCK_BACKEND=local:$PWD/a/b/locks
    start_watched end bash -c 'exec dlock run k -- work cmd 2>err'
    wait_until filled cmd.pid
    wait_until watches "$(holder_field k pid)"
    mv "$moved" moved
    [ "$(how_ended end)" = "exit 79" ]
    [[ "$(cat err)" == *LOST*"is another one now, or none"* ]]
    ended "$(pid_of cmd)"
    mkdir -p a/b/locks
    run -0 dlock run -n k -- true
    rm -r cmd.pid end moved
  done
}

@test "something is mounted over the lock directory of a holder: 79, seen at once by one that watches, else at the release" {
  mounts_apart || skip "no right to mount"
  mkdir own
  DLOCK_BACKEND=local:$PWD/own
  start_watched end "${apart[@]}" bash -c 'dlock run k -- work cmd 2>err & wait_for_it() { until [ -e over ]; do sleep 0.1; done; }
    wait_for_it; mount -t tmpfs none own; : >mounted; wait $!'
  wait_until filled cmd.pid
  wait_until watches "$(holder_field k pid)"
  touch over
  [ "$(how_ended end)" = "exit 79" ]
  [[ "$(cat err)" == *LOST*"is another one now, or none"* ]]
  ended "$(pid_of cmd)"
  rm over mounted
  run -79 "${apart[@]}" dlock run -q k -- mount -t tmpfs none own
}

@test "a path key's file is removed, replaced, or moved with its folder: the holder is lost, at once or at the release" {
  local how
  for how in 'rm a/file' 'touch b; mv b a/file' 'mv a c' 'rm -r a'; do
    rm -rf a c cmd.pid end
    mkdir a
    run -79 dlock run -q "$PWD/a/file" -- sh -c "$how"
    mkdir -p a
    start_watched end bash -c 'exec dlock run "$PWD/a/file" -- work cmd 2>err'
    wait_until filled cmd.pid
    wait_until watches "$(holder_field "$PWD/a/file" pid)"
    sh -c "$how"
    [ "$(how_ended end)" = "exit 79" ]
    [[ "$(cat err)" == *"LOST $PWD/a/file: $PWD/a/file is another file now, or none"* ]]
    ended "$(pid_of cmd)"
  done
}

@test "the lock directory moved, or removed, under a waiter: it goes on in the one that its path leads to then" {
  local gone
  for gone in 'mv "$locks" moved' 'rm -r "$locks"'; do
    start_watched a dlock run -q k -- work first
    wait_until filled first.pid
    start_watched b dlock run -q k -- work second
    wait_until has 1 waiters k
    wait_until watches "$(holder_field k pid)"
    eval "$gone" || [ -d "$locks" ] # the waiter makes its file there before the folder is empty
    [ "$(how_ended a)" = "exit 79" ]
    wait_until filled second.pid
    run -75 dlock run -n k -- true
    kill -TERM "$(pid_of b)"
    how_ended b
    rm first.pid second.pid a b
  done
}

# bats test_tags=all
@test "the lock directory moved between two attempts: the next one is made where its path leads to then" {
  start_watched a dlock run -q k -- work first
  wait_until filled first.pid
  start_watched b dlock run -q --tries 1000 --retry-interval 100ms k -- work second
  wait_until has_opened_lock_file "$(pid_of b)"
  mv "$locks" moved
  [ "$(how_ended a)" = "exit 79" ]
  wait_until filled second.pid
  run -75 dlock run -n k -- true
  kill -TERM "$(pid_of b)"
  how_ended b
}

@test "damaged lock files are a clear error, never a crash and never a grant" {
  dlock run k -- true
  local file bytes
  file=$(lock_file)
  cp "$file" good
  for bytes in 0 100 300 400; do
    cp good "$file"
    printf 'XXXXXXXX' | dd of="$file" bs=1 seek=$bytes conv=notrunc status=none
    run dlock run -n k -- true
    [ "$status" = 78 ] || [ "$status" = 0 ]
    [ "$status" = 0 ] || [[ "$output" == *"$file"* ]]
    [ $bytes -ge 384 ] || [ "$status" = 78 ]
    run dlock inspect k
    [ "$status" -lt 128 ]
  done
  head -c 20 good >"$file"
  run -78 dlock run -n k -- true
  [[ "$output" == *"$file"*damaged* ]]
  head -c 8192 /dev/urandom >"$file"
  run -78 dlock run -n k -- true
  : >"$file" # an empty one is a new one
  run -0 dlock run -n k -- true
}

# Overwrites SIZE bytes at OFFSET of FILE with zeros.
zero() { dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none; }

@test "a damaged fence file lets no lower token in: it is refused, with the remedy" {
  local file damage
  dlock fence db 5
  file=$(echo "$locks"/fence/*.fence)
  cp "$file" first
  dlock fence db 7
  dlock fence db 9
  cp "$file" whole
  for damage in 'zero "$file" 0 296' 'zero "$file" 4096 296' 'zero "$file" 0 1' 'zero "$file" 4096 1' 'zero "$file" 100 4100' \
    'truncate -s 0 "$file"' 'truncate -s 4096 "$file"' 'truncate -s 4200 "$file"' 'zero "$file" 0 8192' \
    'dd if=first of="$file" bs=296 count=1 conv=notrunc status=none' 'cp /etc/passwd "$file"'; do
    cp whole "$file"
    eval "$damage"
    run -78 dlock fence db 8 -- touch ran
    echo "$damage: $output"
    [[ "$output" == *"$file of db is damaged"*"rm $file"*"dlock fence db"* ]]
  done
  [ ! -e ran ]
  rm "$file"
  run -0 dlock fence db 9
  run -79 dlock fence db 8
}

# bats test_tags=all
@test "callers that make a fence file at the same time agree on the highest token" {
  local token
  for token in {1..12}; do start bash -c "dlock fence -w 20 db $token || [ \$? = 79 ]; echo \$? >end.$token"; done
  for token in {1..12}; do
    wait_until filled "end.$token"
    [ "$(cat "end.$token")" = 0 ]
  done
  run -79 dlock fence db 11
  run -0 dlock fence db 12
  [ "$(ls "$locks/fence")" = "$(basename "$locks"/fence/*.fence)" ]
}

@test "a lock file that is damaged under a holder: the kernel keeps the lock, and the command goes on" {
  start_watched a dlock run -q k -- work b
  wait_until filled b.pid
  sleep 0.5
  printf X | dd of="$(lock_file)" bs=1 seek=300 conv=notrunc status=none
  touch "$(lock_file)"
  sleep 1
  run ! in_state "$(cat b.pid)" "ZX"
  [ ! -e a ]
  touch go
  [ "$(how_ended a)" = "exit 0" ]
}

@test "a lock file that is emptied under a holder: force-release frees what it says that it frees" {
  start_watched a dlock run -q k -- work b
  wait_until filled b.pid
  : >"$(lock_file)"
  run -75 dlock run -n k -- touch ran
  run -0 dlock force-release --yes k
  [ "$(how_ended a)" = "exit 79" ]
  run -0 dlock run -n k -- true
  [ ! -e ran ]
}

@test "another key's file under our key's name is refused" {
  dlock run a -- true
  mv "$(lock_file)" saved
  dlock run b -- true
  cat saved >"$(lock_file)"
  run -78 dlock run -n b -- touch ran
  [ ! -e ran ]
}

@test "traps in the lock directory: symlinks, FIFOs and directories in place of the file are refused" {
  dlock run k -- true
  local file
  file=$(lock_file)
  rm "$file" && ln -s /etc/passwd "$file"
  run timeout 10 dlock run -n k -- touch ran
  [[ "$status" == 7[178] ]]
  rm "$file" && mkfifo "$file"
  run timeout 10 dlock run -n k -- touch ran
  [[ "$status" == 7[178] && "$output" == *"the file $file is not safe: it is not a plain file"* ]]
  rm "$file" && mkdir "$file"
  run timeout 10 dlock run -n k -- touch ran
  [[ "$status" == 7[178] ]]
  [ ! -e ran ]
}

@test "a directory that others may write to is refused" {
  chmod 777 "$locks"
  run -78 dlock run k -- touch ran
  [[ "$output" == *"$locks"* ]]
  chmod 700 "$locks"
  ln -s "$locks" link
  run -78 dlock run -b "local:$PWD/link" k -- touch ran
  [ ! -e ran ]
}

@test "a directory under one that others may change is refused; under /tmp, a private group and a shared folder it is not" {
  local above=$BATS_TEST_TMPDIR/above
  mkdir -p "$above/between/locks"
  chmod 700 "$above/between/locks"
  export DLOCK_BACKEND=local:$above/between/locks
  local mode
  for mode in 777 757; do
    chmod "$mode" "$above"
    run -78 dlock run k -- touch ran
    [[ "$output" == *"$above, above it, is writable by everyone (mode 0$mode)"* ]]
  done
  run -78 dlock doctor
  [[ "$output" == *fail*"$above, above it, "* ]]
  chmod 1777 "$above"
  run -0 dlock run k -- true
  chmod 775 "$above"
  if [ "$(id -u)" = 0 ]; then
    chgrp 65534 "$above"
    run -78 dlock run k -- touch ran
    [[ "$output" == *"$above, above it, is writable by its group (mode 0775)"* ]]
    chmod 2775 "$above"
    run -0 dlock run k -- true
    chmod 755 "$above"
    chown 65534 "$above"
    run -78 dlock run k -- touch ran
    [[ "$output" == *"$above, above it, belongs to user 65534"* ]]
    chown 0 "$above"
  fi
  chmod 777 "$above"
  mkdir "$BATS_TEST_TMPDIR/elsewhere"
  ln -s "$above/between" "$BATS_TEST_TMPDIR/elsewhere/link"
  run -78 dlock run -b "local:$BATS_TEST_TMPDIR/elsewhere/link/locks" k -- touch ran
  chmod 755 "$above"
  run -0 dlock run -b "local:$BATS_TEST_TMPDIR/elsewhere/link/locks" k -- true
  [ ! -e ran ]
}

@test "no permission is 77, with the path, and nothing runs" {
  need_root
  open_world
  run -77 nobody dlock run k -- true
  [[ "$output" == *"$locks"* ]]
  run -77 nobody dlock run -n "$BATS_TEST_TMPDIR/work/new-file" -- true
  run -77 nobody dlock acquire --ttl 1m k
}

@test "another user's flock file that may be read can be locked, as with flock(1)" {
  need_root
  open_world
  touch shared
  chmod 644 shared
  mkdir -m 700 "$BATS_TEST_TMPDIR/theirs"
  chown 65534:65534 "$BATS_TEST_TMPDIR/theirs"
  run -0 nobody dlock run -b "local:$BATS_TEST_TMPDIR/theirs" -n "$PWD/shared" -- true
}

@test "a read-only file system is a clear error" {
  need_root
  mkdir -m 700 "$BATS_TEST_TMPDIR/disk"
  mount -t tmpfs -o ro,mode=700 none "$BATS_TEST_TMPDIR/disk" || skip "cannot mount"
  run dlock run -b "local:$BATS_TEST_TMPDIR/disk" k -- touch ran
  stock=$(dlock stock create -b "local:$BATS_TEST_TMPDIR/disk" phone --quantity 1 2>&1 || true)
  umount "$BATS_TEST_TMPDIR/disk"
  [ "$status" = 77 ] || [ "$status" = 71 ]
  [[ "$output" == *"ead-only"* ]]
  [[ "$stock" == *"cannot open $BATS_TEST_TMPDIR/disk/stock.db: Read-only file system"* ]]
  [ ! -e ran ]
}

# bats test_tags=all
@test "gc of a store in which nothing may be changed is one clear error" {
  need_root
  local disk=$BATS_TEST_TMPDIR/disk
  mkdir -m 700 "$disk"
  mount -t tmpfs -o mode=700 none "$disk" || skip "cannot mount"
  dlock run -b "local:$disk" a b c -- true
  mount -o remount,ro "$disk"
  run --separate-stderr dlock gc -b "local:$disk"
  umount "$disk"
  [ "$status" = 77 ]
  [ "$output" = "" ]
  [[ "$stderr" == "dlock: nothing can be swept in local:$disk: cannot open $disk/"*".lock: Read-only file system"* ]]
  [ "$(grep -c 'Read-only' <<<"$stderr")" = 1 ]
}

# bats test_tags=all
@test "a directory where no file can be made is a clear error" {
  need_root
  run -71 dlock run -n -b local:/proc k -- touch ran
  [[ "$output" == *"cannot make a file in /proc"*"name another directory"* ]]
  run -71 dlock run -n -b local:/proc/locks-of-mine k -- touch ran
  [[ "$output" == *"cannot make the lock directory /proc/locks-of-mine: No such file or directory"*"name another one"* ]]
  [ ! -e ran ]
}

@test "no space is a clear error, and locks that exist go on working" {
  need_root
  local disk=$BATS_TEST_TMPDIR/disk
  mkdir -m 700 "$disk"
  mount -t tmpfs -o size=64k,mode=700 none "$disk" || skip "cannot mount"
  touch "$disk/mounted"
  dlock run -b "local:$disk" old -- true
  dd if=/dev/zero of="$disk/fill" bs=1k 2>/dev/null || true
  run dlock run -b "local:$disk" new -- touch ran
  local new=$status said=$output
  run dlock stock create -b "local:$disk" --quantity 5 s
  local stock=$status said_of_stock=$output
  run dlock run -b "local:$disk" -n old -- true
  local old=$status
  umount "$disk"
  [ "$new" = 71 ]
  [[ "$said" == *"No space"* ]]
  [ "$stock" = 71 ]
  [[ "$said_of_stock" == "dlock: cannot "*"/stock.db: No space left on device"*"make room"* ]]
  [ "$old" = 0 ]
  [ ! -e ran ]
}

# bats test_tags=all
@test "unset HOME, an empty environment, umask 077 and 000" {
  run -0 env -u HOME dlock run k -- true
  run -0 env -i "$DLOCK" run -b "$DLOCK_BACKEND" k -- /bin/true
  (umask 077 && dlock run new -- sh -c '[ "$(umask)" = 0077 ]')
  (umask 000 && dlock run newer -- true)
  [ "$(stat -c %a "$locks"/*.lock | sort -u)" = 600 ]
}

@test "without --backend the locks are the user's own, in a private directory" {
  need_root
  open_world
  mkdir "$BATS_TEST_TMPDIR/nowhere"
  chown 65534:65534 "$BATS_TEST_TMPDIR/nowhere"
  run -0 nobody env -u DLOCK_BACKEND dlock run k -- true
  [ "$(stat -c %a "$BATS_TEST_TMPDIR/nowhere/.local/state/dlock")" = 700 ]
  run -0 nobody env -u DLOCK_BACKEND XDG_STATE_HOME="$BATS_TEST_TMPDIR/nowhere/xdg" dlock run k -- true
  [ -d "$BATS_TEST_TMPDIR/nowhere/xdg/dlock" ]
}

@test "no descriptors left is an error of the system, not a hang and not a grant" {
  local n
  for n in 4 5 6 7; do
    run bash -c "exec 3>&- 4>&- 5>&-; ulimit -n $n; exec timeout 10 dlock run -n k -- true"
    [ "$status" = 71 ] || [ "$status" = 0 ]
  done
  run bash -c 'exec 3>&-; ulimit -n 4; exec dlock run -n k -- touch ran'
  [ "$status" = 71 ]
  [ ! -e ran ]
  run -0 dlock run -n k -- true
}

# bats test_tags=all
@test "no descriptors left for a stock is an error of the system, not of its owner" {
  run bash -c 'exec 3>&- 4>&- 5>&-; ulimit -n 5; exec dlock stock create s --quantity 5'
  [ "$status" = 71 ]
  [[ "$output" == "dlock: cannot open "*"/stock.db: Too many open files"*"ulimit -n"* ]]
  run -0 dlock stock create s --quantity 5
}

# bats test_tags=all
@test "no process left for the command is 71, and the lock is free again" {
  need_root
  open_world
  mkdir -m 700 "$BATS_TEST_TMPDIR/theirs"
  chown 65534:65534 "$BATS_TEST_TMPDIR/theirs"
  run -71 setpriv --reuid=65534 --regid=65534 --clear-groups -- \
    prlimit --nproc=0 dlock run -b "local:$BATS_TEST_TMPDIR/theirs" -n k -- true
  [[ "$output" == *"cannot start a process"* ]]
  run -0 nobody dlock run -b "local:$BATS_TEST_TMPDIR/theirs" -n k -- true
}

# A server of NFS that is gone, a memory cgroup that is full: fcntl(2) with F_OFD_GETLK fails.
asking_fails() { "${python[@]}" "$support/denying.py" fcntl 1 36 ENOLCK "$@"; }
@test "where the kernel does not tell who holds a lock nobody gets it, and nobody is told that it is free" {
  hold_lock k
  local wanted
  for wanted in "run -n k" "run k" "run -n -s k" "run -n --permits 2 k"; do
    run -71 asking_fails bash -c "exec dlock $wanted -- touch ran"
    [[ "$output" == *"cannot ask who holds the lock: No locks available"* ]]
  done
  run -71 asking_fails dlock wait k
  run -71 asking_fails dlock inspect k
  run -71 asking_fails dlock check k "$holder_token"
  run -71 asking_fails dlock force-release --yes k
  [ ! -e ran ]
  run -75 dlock run -q -n k -- true
}

@test "where the kernel gives no random numbers nothing is taken, and that is said" {
  local command
  for command in "run -n k -- touch ran" "acquire --ttl 1m k" "hold k"; do
    run -71 "${python[@]}" "$support/denying.py" getrandom 2 0 EPERM bash -c "exec dlock $command"
    [[ "$output" == *"gives no random numbers"*"Operation not permitted"*seccomp* ]]
  done
  [ ! -e ran ]
  run -0 dlock run -n k -- true
}
