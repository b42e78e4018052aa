# SPDX-License-Identifier: Apache-2.0
# The local backend when something goes wrong: killed and stopped processes, bad environments, damaged files, limits.
load ../support/cli

setup() {
  set_world
  # work NAME [FLAG]: writes NAME.pid, then runs until the file FLAG (default: go) is there.
  script work <<'SCRIPT'
#!/bin/bash
echo $$ >"$1.pid"
until [ -e "${2:-go}" ]; do sleep 0.02; done
SCRIPT
}
teardown() {
  [ ! -e "$BATS_TEST_TMPDIR/disk/mounted" ] || umount "$BATS_TEST_TMPDIR/disk"
  end_world
}

lock_file() { echo "$locks"/*.lock; }

@test "supervisor SIGKILLed: the command dies with it, and the lock is free at once" {
  start_watched end dlock run k -- work cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of end)"
  run -0 dlock run -w 10 k -- true
  ended "$(pid_of cmd)"
}

@test "supervisor SIGKILLed while grandchildren work: the descriptor keeps the lock until the last is gone" {
  start_watched end dlock run k -- bash -c 'work one & work two & echo $$ >cmd.pid; wait'
  wait_until filled one.pid
  wait_until filled two.pid
  kill -KILL "$(pid_of end)"
  wait_until ended "$(pid_of cmd)"
  kill -KILL "$(pid_of one)"
  run -75 dlock run -q -n k -- true
  run -0 dlock inspect --json k
  jq -e '.holders | length == 1' <<<"$output"
  kill -KILL "$(pid_of two)"
  run -0 dlock run -w 10 k -- true
}

@test "the command SIGKILLed: dlock dies of KILL, the lock is free" {
  start_watched end dlock run k -- work cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of cmd)"
  [ "$(how_ended end)" = "signal 9" ]
  run -0 dlock run -n k -- true
}

@test "supervisor and command stopped far beyond the ttl: the lock stays held, and work goes on" {
  start_watched end dlock run --ttl 1s k -- work cmd
  wait_until filled cmd.pid
  kill -STOP "$(pid_of end)" "$(pid_of cmd)"
  wait_until in_state "$(pid_of cmd)" T
  run -75 dlock run -q -w 1.5 k -- true
  kill -CONT "$(pid_of end)" "$(pid_of cmd)"
  touch go
  [ "$(how_ended end)" = "exit 0" ]
}

@test "the supervisor stopped, its command killed: the lock is freed when it goes on" {
  start_watched end dlock run k -- work cmd
  wait_until filled cmd.pid
  kill -STOP "$(pid_of end)"
  wait_until in_state "$(pid_of end)" T
  kill -KILL "$(pid_of cmd)"
  run -75 dlock run -q -n k -- true
  kill -CONT "$(pid_of end)"
  [ "$(how_ended end)" = "signal 9" ]
  run -0 dlock run -n k -- true
}

@test "a waiter SIGKILLed in the queue is skipped by those behind it" {
  hold_lock k
  start_watched first dlock run -q k -- touch first-ran
  wait_until has 1 waiters k
  start_watched second dlock run -q k -- true
  wait_until has 2 waiters k
  kill -KILL "$(pid_of first)"
  wait_until has 1 waiters k
  let_go
  [ "$(how_ended second)" = "exit 0" ]
  [ ! -e first-ran ]
}

@test "a waiter SIGSTOPped in the queue holds its turn, and takes it when it goes on" {
  hold_lock k
  start_watched first dlock run -q k -- true
  wait_until has 1 waiters k
  kill -STOP "$(pid_of first)"
  wait_until in_state "$(pid_of first)" T
  let_go
  run dlock run -q -w 0.3 k -- true
  [ "$status" = 75 ] || [ "$status" = 0 ]
  kill -CONT "$(pid_of first)"
  [ "$(how_ended first)" = "exit 0" ]
  run -0 dlock run -w 10 k -- true
}

@test "a waiter that stays SIGSTOPped when its turn has come is passed over, and queues again when it goes on" {
  local key
  for key in k "$PWD/file"; do
    rm -f first second first.pid second.pid stopped ran
    hold_lock "$key"
    start_watched first dlock run -q "$key" -- touch stopped
    wait_until has 1 waiters "$key"
    start_watched second dlock run -q "$key" -- touch ran
    wait_until has 2 waiters "$key"
    kill -STOP "$(pid_of first)"
    wait_until in_state "$(pid_of first)" T
    let_go
    [ "$(how_ended second)" = "exit 0" ]
    [ -e ran ] && [ ! -e stopped ]
    kill -CONT "$(pid_of first)"
    [ "$(how_ended first)" = "exit 0" ]
    [ -e stopped ]
  done
}

@test "a holder that is SIGSTOPped is no waiter: nobody passes it" {
  start_watched a dlock run -q k -- work a
  wait_until filled a.pid
  kill -STOP "$(pid_of a)"
  run -75 dlock run -q -w 8 k -- true
  kill -CONT "$(pid_of a)"
  touch go
  [ "$(how_ended a)" = "exit 0" ]
}

@test "64 waiters are served one at a time, in order of arrival, and nobody is lost" {
  hold_lock k
  local i
  for i in {1..64}; do
    start dlock run -q k -- bash -c "mkdir alone || echo overlap >>order; echo $i >>order; rmdir alone"
    wait_until has "$i" waiters k
  done
  let_go
  wait_until lines_in order 64
  wait_until is_free k
  [ "$(cat order)" = "$(seq 64)" ]
}

@test "a crowd with random kills never overlaps and leaves nothing behind" {
  script turn <<'SCRIPT'
#!/bin/bash
mkdir alone 2>/dev/null || { owner=$(cat alone/pid); [ ! -e "/proc/${owner:-none}" ] || echo overlap >>overlaps; }
mkdir -p alone && echo $$ >alone/pid
echo "$DLOCK_TOKEN" >>tokens
rm -rf alone
SCRIPT
  local i victims=()
  for i in {1..40}; do
    start dlock run -q k -- turn
    ((i % 4)) || victims+=("$started_pid")
  done
  for i in "${victims[@]}"; do kill -KILL "$i" 2>/dev/null || true; done
  run -0 dlock run -w 15 k -- true
  wait_until lines_in tokens 30
  [ ! -e overlaps ]
  sort -n -c tokens # in one look: who was started late, or killed late, may still be at it
  wait_until has 0 waiters k
  sort -n -c tokens
}

@test "force-release: the revoked holder notices within a second or two" {
  start_watched end dlock run -q k -- sleep 300
  wait_until is_held k
  local before after
  before=$(date +%s%N)
  dlock force-release --yes k
  [ "$(how_ended end)" = "exit 79" ]
  after=$(date +%s%N)
  [ $(((after - before) / 1000000)) -lt $((2500 * slowness)) ]
}

@test "the holder left behind by acquire was killed: the lease is over, and release says 79" {
  local owner token pid
  read -r owner token < <(dlock acquire --ttl 1m k)
  pid=$(holder_field k pid)
  kill -KILL "$pid"
  run -0 dlock run -w 10 k -- true
  run -79 dlock release k --owner "$owner"
}

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
  ! in_state "$(cat b.pid)" "ZX" && [ ! -e a ]
  touch go
  [ "$(how_ended a)" = "exit 0" ]
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
  [[ "$status" == 7[178] ]]
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
    [[ "$output" == *"$above, above it, may be written to by everybody (mode 0$mode)"* ]]
  done
  run -78 dlock doctor
  [[ "$output" == *fail*"$above, above it, "* ]]
  chmod 1777 "$above"
  run -0 dlock run k -- true
  chmod 775 "$above"
  if [ "$(id -u)" = 0 ]; then
    chgrp 65534 "$above"
    run -78 dlock run k -- touch ran
    [[ "$output" == *"$above, above it, may be written to by its group (mode 0775)"* ]]
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
  umount "$BATS_TEST_TMPDIR/disk"
  [ "$status" = 77 ] || [ "$status" = 71 ]
  [[ "$output" == *"ead-only"* ]]
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
  run dlock run -b "local:$disk" -n old -- true
  local old=$status
  umount "$disk"
  [ "$new" = 71 ]
  [[ "$said" == *"No space"* ]]
  [ "$old" = 0 ]
  [ ! -e ran ]
}

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

@test "flock(1) and dlock exclude each other on a path key" {
  start flock "$PWD/file" bash -c 'work flocked'
  wait_until filled flocked.pid
  run -75 dlock run -q -n "$PWD/file" -- true
  run -75 dlock run -q -n -s "$PWD/file" -- true
  touch go
  run -0 dlock run -w 10 "$PWD/file" -- true
  rm go
  start dlock run "$PWD/file" -- work locked
  wait_until filled locked.pid
  run -1 flock -n "$PWD/file" true
  run -1 flock -n -s "$PWD/file" true
  touch go
  run -0 flock -w 10 "$PWD/file" true
}

@test "shared path keys share with flock -s" {
  start flock -s "$PWD/file" bash -c 'work flocked'
  wait_until filled flocked.pid
  run -0 dlock run -n -s "$PWD/file" -- flock -n -s "$PWD/file" true
  run -75 dlock run -q -n "$PWD/file" -- true
}

@test "a path key waits for flock(1), is told who has it, and is woken when it lets go" {
  start flock "$PWD/file" bash -c 'work flocked'
  wait_until filled flocked.pid
  run -75 dlock run -n "$PWD/file" -- true
  [[ "$output" == *"$PWD/file is held by"*pid* ]]
  start_watched end dlock run -q "$PWD/file" -- true
  wait_until has 1 waiters "$PWD/file"
  touch go
  [ "$(how_ended end)" = "exit 0" ]
}

@test "a path key's file is never written to nor removed" {
  echo content >file
  touch -d 2001-01-01 file
  dlock run "$PWD/file" -- true
  run -75 dlock run "$PWD/file" -- env -u DLOCK_HELD dlock run -q -n "$PWD/file" -- true
  [ "$(cat file)" = content ]
  [ "$(stat -c %y file | cut -c1-4)" = 2001 ]
  run -0 dlock run -n "$PWD" -- true
}

@test "a path key has one name however it is spelled: entered again, counted once, seen, and waited for" {
  mkdir -p a/b
  touch a/x
  ln -s a/x file
  ln -s a folder
  local one=$PWD/a/x two=$PWD/a/b/../x
  run -0 timeout 20 dlock run "$one" -- dlock run "$two" -- dlock run "$PWD/file" -- dlock run "$PWD/folder/./x" -- printenv DLOCK_KEY
  [ "$output" = "$(realpath a/x)" ]
  run -0 timeout 20 dlock run "$PWD/a/new" -- dlock run "$PWD/folder/new" -- true
  run -0 timeout 20 dlock run "$one" "$two" "$PWD/folder/x" -- printenv DLOCK_KEY
  [ "$output" = "$(realpath a/x)" ]
  hold_lock "$PWD/folder/x"
  [ "$(count holders "$two")" = 1 ]
  start_watched end dlock run -q "$two" -- true
  wait_until has 1 waiters "$one"
  let_go
  [ "$(how_ended end)" = "exit 0" ]
  run -64 dlock run "/proc/self/cwd/$(printf 'd%.0s' {1..230})" -- touch ran
  [[ "$output" == *"cannot be a key"* ]]
  [ ! -e ran ]
}

@test "a path key's file is not made through a symbolic link that leads nowhere" {
  ln -s "$BATS_TEST_TMPDIR/made" link
  run -78 dlock run -n "$PWD/link" -- touch ran
  [[ "$output" == *"$PWD/link is a symbolic link that leads nowhere"* ]]
  [ ! -e "$BATS_TEST_TMPDIR/made" ] && [ ! -e ran ]
  touch "$BATS_TEST_TMPDIR/made"
  run -1 dlock run -n "$PWD/link" -- flock -n "$BATS_TEST_TMPDIR/made" true
}

@test "supervisor SIGKILLed with a path key: flock(1) is kept out as long as a grandchild works" {
  start_watched end dlock run "$PWD/file" -- bash -c 'work child & wait'
  wait_until filled child.pid
  kill -KILL "$(pid_of end)"
  wait_until filled end
  run -1 flock -n "$PWD/file" true
  touch go
  run -0 flock -w 10 "$PWD/file" true
}

@test "lock-delay: after an unclean end nobody gets the lock for that long, after a clean one at once" {
  run -0 dlock run --lock-delay 1s k -- true
  run -0 dlock run -n k -- true
  start_watched end dlock run --lock-delay 1s k -- work cmd
  wait_until filled cmd.pid
  local before after
  before=$(date +%s%N)
  kill -KILL "$(pid_of end)"
  wait_until ended "$(pid_of cmd)"
  run -75 dlock run -q -n k -- true
  run -0 dlock run -w 10 k -- true
  after=$(date +%s%N)
  [ $(((after - before) / 1000000)) -ge 900 ]
}

@test "tokens grow across killed holders, force-release and a removed file" {
  local last=0 token
  grows() {
    token=$(dlock run -w 10 k -- printenv DLOCK_TOKEN)
    [ "$token" -gt "$last" ]
    last=$token
  }
  grows
  start_watched end dlock run -q k -- work cmd
  wait_until filled cmd.pid
  kill -KILL "$(pid_of end)"
  grows
  hold_lock k
  dlock force-release --yes k
  grows
  rm "$(lock_file)"
  grows
}
