# SPDX-License-Identifier: Apache-2.0
# Keys that are paths, shared with flock(1).
load ../support/cli

setup() {
  set_world
  script_work
}
teardown() { end_world; }

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
  [[ "$output" == *"$PWD/link is a symbolic link to a file that does not exist"* ]]
  ln -s loop loop
  run -0 dlock inspect "$PWD/link" "$PWD/loop" # nobody can hold what is not there
  [[ "${lines[0]}" == "$PWD/link  free"* && "$output" == *"$PWD/loop  free"* ]]
  [ ! -e "$BATS_TEST_TMPDIR/made" ]
  [ ! -e ran ]
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

@test "a key that begins with ./ or ../ is that file, as for flock(1); on a server it is refused" {
  mkdir -p sub/below
  start bash -c 'cd sub && exec flock ./file bash -c "work flocked"'
  wait_until filled sub/flocked.pid
  (cd sub && run -75 dlock run -q -n ./file -- true)
  (cd sub/below && run -75 dlock run -q -n ../file -- true)
  run -75 dlock run -q -n "$PWD/sub/file" -- true
  run -0 dlock run -n file -- true
  touch sub/go
  run -0 dlock run -w 10 ./sub/file -- printenv DLOCK_KEY
  [ "$output" = "$(realpath sub/file)" ]
  local command
  for command in 'run -n ./file -- touch ran' 'inspect ../file' 'force-release --yes ./file' 'check ./file 7'; do
    # shellcheck disable=SC2086  # its words
    run -78 dlock -b redis://127.0.0.1:1 $command
    [[ "$output" == *"./file is a file of this machine"*"-b local:"* ]]
  done
  [ ! -e ran ]
}

@test "a key that is the name of a lock file here gets a note, but no key that is none, and none with -q" {
  touch app.lock app.pid other
  local key
  for key in app.lock app.pid; do
    run -0 --separate-stderr dlock run "$key" -- echo ran
    [ "$output" = ran ]
    [[ "$stderr" == "dlock: the key $key is a name, and not the file of that name here: to lock the file, write ./$key" ]]
    run -0 dlock run -q "$key" -- true
    [ "$output" = "" ]
  done
  for key in other gone.lock ./app.lock "$PWD/app.lock"; do
    run -0 dlock run "$key" -- true
    [ "$output" = "" ]
  done
}

@test "DLOCK_BACKEND that is set and empty is refused, unless the command line says where" {
  run -78 env DLOCK_BACKEND= dlock run k -- touch ran
  [[ "$output" == *DLOCK_BACKEND*"is set but empty"* ]]
  [ ! -e ran ]
  run -0 env DLOCK_BACKEND= dlock run -b "local:$locks" k -- true
}
