# SPDX-License-Identifier: Apache-2.0
# Re-entry: a run inside a hold of the same key. Its keeper is that of the outermost run, which counts, the same on every
# server; what differs, and is asked with --all, is how it comes to know that the hold has ended. Locally, where there is no
# keeper, the kernel counts.
load ../support/cli
load ../support/stores

setup() {
  set_world
  need_servers
  # inside NAME WORD...: a run inside, whose end is written to NAME; its command waits for NAME.go.
  script inside <<'SCRIPT'
#!/bin/bash
name=$1
shift
exec "$PROGRAMS/watched" "$name" dlock run --ttl "${TTL:-30s}" "$@" "$KEY" -- command_inside "$name"
SCRIPT
  script command_inside <<'SCRIPT'
#!/bin/bash
echo "$DLOCK_OWNER $DLOCK_TOKEN" >"$1.held"
echo $$ >"$1.command.pid"
until [ -e "$1.go" ]; do sleep 0.1; done
SCRIPT
  # around NAME...: the command of an outer run, with these inside at once. It ends when `leave` is there.
  script around <<'SCRIPT'
#!/bin/bash
echo "$DLOCK_OWNER $DLOCK_TOKEN" >outer.held
for name in "$@"; do setsid inside "$name" >"$name.out" 2>&1 </dev/null 3>&- & done
until [ -e leave ]; do sleep 0.1; done
SCRIPT
  export PROGRAMS=$programs
}
teardown() { end_world; }

new_row() {
  rm -f ./*.go ./*.held ./*.pid ./*.out leave one two outer
  export KEY=$key
}
local_store() { [[ $DLOCK_BACKEND == local:* ]]; }
# A run around two.
outer() {
  new_row
  start_watched outer dlock run --ttl "${TTL:-30s}" "$key" -- around one two
  wait_until filled one.held
  wait_until filled two.held
}
entered() { [ "$(holder_field "$key" count)" = "$1" ]; }
claim_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^DLOCK_HELD=//p'; } # PID
has_no_keeper() { [ -z "$(pgrep -P "$(cat "$1.pid")" '^dlock-')" ]; }

counted() {
  outer
  cmp outer.held one.held
  cmp outer.held two.held
  entered 3
  local_store || { has_no_keeper one && has_no_keeper two; }
  run -75 dlock run -q -n "$key" -- touch ran
  touch one.go
  [ "$(how_ended one)" = "exit 0" ]
  wait_until entered 2
  # The outer one ends before the inner one: its status is its own, and the hold goes on.
  touch leave
  [ "$(how_ended outer)" = "exit 0" ]
  entered 1
  run -75 dlock run -q -n "$key" -- touch ran
  touch two.go
  [ "$(how_ended two)" = "exit 0" ]
  is_free "$key"
  [ ! -e ran ]
}
@test "each store: two inside at once, in sessions of their own, are counted, and whoever ends last frees the lock" { on_two_stores counted; }

deep() {
  new_row
  # shellcheck disable=SC2016 # for the shells inside
  run -0 dlock run "$key" -- sh -c 'echo "$DLOCK_OWNER"
    exec env -i PATH="$PATH" HOME="$HOME" DLOCK_HELD="$DLOCK_HELD" DLOCK_BACKEND="$DLOCK_BACKEND" KEY="$KEY" \
      dlock run -n "$KEY" -- sh -c "dlock run -n $KEY -- printenv DLOCK_OWNER; dlock inspect $KEY"'
  [ "${lines[0]}" = "${lines[1]}" ]
  [[ "$output" == *"entered 2 times"* ]]
  is_free "$key"
  # What is left of it is nobody's claim.
  local stale
  stale=$(dlock run "$key" -- printenv DLOCK_HELD)
  run -0 env DLOCK_HELD="$stale" dlock run -n "$key" -- true
  hold_lock "$key"
  run -75 env DLOCK_HELD="$stale" dlock run -q -n "$key" -- touch ran
  let_go
}
@test "each store: three deep, with an environment that has nothing but DLOCK_HELD; a claim of old is ignored" { on_two_stores deep; }

modes() {
  new_row
  run -0 dlock run "$key" -- dlock run -n "$key" -- true
  if can shared; then
    run -0 dlock run "$key" -- dlock run -n --shared "$key" -- true
    run -0 dlock run --shared "$key" -- dlock run -n --shared "$key" -- true
    run -78 dlock run --shared "$key" -- dlock run "$key" -- touch ran
    [[ "$output" == *"would wait for the hold it is inside of"* ]]
  fi
  if can permits; then
    run -0 dlock run --permits 3 "$key" -- dlock run -n --permits 3 "$key" -- true
    run -78 dlock run --permits 3 "$key" -- dlock run --permits 2 "$key" -- touch ran
    [[ "$output" == *"is held with --permits 3, which is not what was asked for"* ]]
  fi
  [ ! -e ran ]
  is_free "$key"
}
@test "each store: another mode inside, or other permits" { on_two_stores modes; }

some_held() {
  new_row
  if [[ "$DLOCK_BACKEND" == *redis+cluster:* ]]; then key="{$key}"; fi
  hold_lock "$key:c"
  run -75 dlock run "$key:b" -- dlock run -q -n "$key:a" "$key:b" "$key:c" -- touch ran
  let_go
  run -0 dlock run "$key:b" -- sh -c "dlock run -n $key:a $key:b -- env -u DLOCK_HELD dlock run -q -n $key:a -- true; echo \$?
    env -u DLOCK_HELD dlock run -n $key:a -- true; env -u DLOCK_HELD dlock run -q -n $key:b -- true; echo \$?"
  [ "$output" = $'75\n75' ]
  is_free "$key:a"
  is_free "$key:b"
  [ ! -e ran ]
}
@test "each store: of several keys those that are held are entered, the others taken and given back" { on_two_stores some_held; }

# One of the two is stopped, and so is the outer one: all commands are ended all the same. (Locally the outer one ends
# those inside with its own command.)
loss() {
  TTL=$((3 * slowness))s outer
  local_store || kill -STOP "$(cat one.pid)" "$(pid_of outer)"
  run -0 dlock force-release --yes "$key"
  wait_until ended "$(cat one.command.pid)"
  wait_until ended "$(cat two.command.pid)"
  if ! local_store; then
    [ "$(how_ended two)" = "exit 79" ]
    grep -q "LOST $key" two.out
    kill -CONT "$(pid_of outer)"
  fi
  [ "$(how_ended outer)" = "exit 79" ]
}
@test "each store: a loss is told to all inside, and ends the command of one that is stopped" { on_two_stores loss; }

keeper_killed() {
  ! local_store || return 0
  TTL=$((3 * slowness))s outer
  local keeper claim
  keeper=$(keeper_of outer)
  claim=$(claim_of "$(cat one.command.pid)")
  kill -STOP "$(pid_of outer)"
  kill -KILL "$keeper"
  # Where the lock is a connection, it is gone. Else a new one finds that the hold is there, and its keeper is not.
  if [[ $DLOCK_BACKEND != *strategy=session && $DLOCK_BACKEND != *strategy=row ]]; then
    run -78 env DLOCK_HELD="$claim" dlock run "$key" -- touch ran
    [[ "$output" == *"$key is held by an outer command, whose dlock cannot be reached from here"* ]]
  fi
  [ "$(how_ended one)" = "exit 79" ]
  [ "$(how_ended two)" = "exit 79" ]
  kill -CONT "$(pid_of outer)"
  [ "$(how_ended outer)" = "exit 79" ]
  [ ! -e ran ]
}
@test "each store: the keeper is killed: who is inside ends, 79; who comes is refused, 78" { on_two_stores keeper_killed; }

# Locally the lease ends when it would have ended, and the run inside holds beyond that end.
leased() {
  can detaches || return 0
  new_row
  eval "$(dlock acquire --shell --ttl $((3 * slowness))s "$key")"
  run -0 dlock run -n "$key" -- sh -c "until [ \$(date +%s) -gt ${DLOCK_DEADLINE%.*} ]; do sleep 0.1; done
    dlock run -n $key -- printenv DLOCK_OWNER
    env -u DLOCK_HELD dlock run -q -n $key -- touch ran || echo \$?"
  [ "$output" = "$DLOCK_OWNER"$'\n75' ]
  if ! local_store; then
    run -75 env -u DLOCK_HELD dlock run -q -n "$key" -- touch ran
    run -0 dlock release --owner "$DLOCK_OWNER" "$key"
  fi
  unset "${!DLOCK_H@}" DLOCK_OWNER DLOCK_TOKEN DLOCK_STORE DLOCK_KEY DLOCK_KEYS DLOCK_DEADLINE
  is_free "$key"
  [ ! -e ran ]
}
@test "each store: a run inside a lease of acquire keeps it, and leaves it" { on_two_stores leased; }

watched_process() {
  ! local_store && can detaches && can watches || return 0
  new_row
  start sleep 60
  local watched=$started_pid
  eval "$(dlock acquire --shell --watch-pid "$watched" "$key")"
  start_watched one dlock run -n "$key" -- command_inside one
  wait_until filled one.held
  kill -KILL "$watched"
  run -75 env -u DLOCK_HELD dlock run -q -w 0.3 "$key" -- touch ran
  touch one.go
  [ "$(how_ended one)" = "exit 0" ]
  unset "${!DLOCK_H@}" DLOCK_OWNER DLOCK_TOKEN DLOCK_STORE DLOCK_KEY DLOCK_KEYS DLOCK_DEADLINE
  wait_until is_free "$key"
  # The same for a hold, and for a lease inside a run, which ends with the process that is watched.
  start sleep 60
  watched=$started_pid
  run -0 dlock run "$key" -- sh -c "dlock acquire --watch-pid $watched $key"
  run -75 dlock run -q -n "$key" -- touch ran
  kill -KILL "$watched"
  wait_until is_free "$key"
  [ ! -e ran ]
}
# bats test_tags=all
@test "each store: a run inside what acquire --watch-pid keeps, and the other way round" { on_two_stores watched_process; }

# Its supervisor is killed: its keeper, which is that of the outer one, ends its command and keeps the hold.
killed_inside() {
  outer
  kill -KILL "$(cat one.pid)"
  if ! local_store; then
    wait_until ended "$(cat one.command.pid)"
    wait_until entered 2
  fi
  kill -0 "$(cat two.command.pid)"
  run -75 dlock run -q -n "$key" -- touch ran
  touch one.go two.go leave
  [ "$(how_ended two)" = "exit 0" ]
  [ "$(how_ended outer)" = "exit 0" ]
  wait_until is_free "$key"
  [ ! -e ran ]
}
# bats test_tags=all
@test "each store: a run inside is killed: its command ends, and the others hold" { on_two_stores killed_inside; }

other_user() {
  ! local_store || return 0
  new_row
  run -0 dlock run "$key" -- setpriv --reuid=65534 --regid=65534 --clear-groups -- \
    env "HOME=$BATS_TEST_TMPDIR/nowhere" dlock run -n "$key" -- printenv DLOCK_KEY
  [ "$output" = "$key" ]
  is_free "$key"
}
@test "each store: a run inside as another user (sudo) enters; two users without rights do not" {
  need_root
  open_world
  install -d "$BATS_TEST_TMPDIR/libexec/dlock"
  cp -r "${DLOCK%/bin/dlock}/libexec/dlock/." "$BATS_TEST_TMPDIR/libexec/dlock/"
  on_two_stores other_user
  use "$DLOCK_TEST_REDIS"
  key=users-$$
  start_watched outer setpriv --reuid=65534 --regid=65534 --clear-groups -- env "HOME=$BATS_TEST_TMPDIR/nowhere" \
    dlock run "$key" -- sleep 60
  wait_until eval 'command_of outer >command.pid'
  run -78 setpriv --reuid=65533 --regid=65533 --clear-groups -- env "HOME=$BATS_TEST_TMPDIR/nowhere" \
    DLOCK_HELD="$(claim_of "$(cat command.pid)")" dlock run "$key" -- true
  [[ "$output" == *"whose dlock cannot be reached from here"* ]]
}

@test "in another network namespace the hold is not to be reached: 78, and no wait for itself" {
  unshare -n true 2>/dev/null || skip "no right to unshare"
  use "$DLOCK_TEST_REDIS_UNIX"
  run -78 timeout 20 dlock run k-$$ -- unshare -n dlock run k-$$ -- touch ran
  [[ "$output" == *"is held by an outer command, whose dlock cannot be reached from here"* ]]
  [ ! -e ran ]
}

# at_the_door USER NAME HOW: listens there, answers as a keeper does or hangs up, and writes down what it was told.
at_the_door() {
  cat >door.py <<'PROGRAM'
import os, socket, sys
user, name, how = int(sys.argv[1]), sys.argv[2], sys.argv[3]
told = open("told", "ab", buffering=0)
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
os.setuid(user)
door.bind("\0" + name)
door.listen()
while True:
    guest, _ = door.accept()
    if how == "hangs up":
        guest.close()
        continue
    guest.settimeout(0.3)
    try:
        told.write(guest.recv(65536))
        guest.send(how.encode())
        told.write(guest.recv(65536))
    except OSError:
        pass
PROGRAM
  start "${python[@]}" door.py "$@"
  wait_until grep -q "@$2" /proc/net/unix
}
@test "who listens where a hold is entered, and is another user's, is told nothing and believed nothing; nor is who hangs up: 78" {
  need_root
  need_servers
  use "$DLOCK_TEST_REDIS"
  local key=door-$$ claim secret owner forged how
  start_watched outer dlock run --events ./events --report report "$key" -- sleep 60
  wait_until eval 'command_of outer >command.pid'
  claim=$(claim_of "$(cat command.pid)")
  secret=${claim##*|}
  [ ${#secret} = 32 ]
  # No view of it, and no record in the store.
  dlock inspect --json "$key" >seen
  cat events report >>seen
  redis-cli -u "$DLOCK_TEST_REDIS" --raw hgetall "dlock:{$key}:holders" >record
  grep -aq "$(hostname)" record
  cat record >>seen
  run -1 grep -ae "${secret:0:16}" -e "${secret:16}" seen
  owner=$(tr '\0' '\n' <"/proc/$(cat command.pid)/environ" | sed -n 's/^DLOCK_OWNER=//p')
  local answer=$'granted\nname='$key$'\nowner=00000000000000000000000000000000\ntoken=1\nstore=redis://evil\nreentered=1\n'
  local n=0
  for how in "65534 $answer" "65534 hangs up" "0 hangs up"; do
    n=$((n + 1))
    forged=$(printf '%016d%016d' $n 0)
    at_the_door "${how%% *}" "dlock/${owner:0:16}/${forged:0:16}" "${how#* }"
    run -78 env DLOCK_HELD="${claim%|*}|$forged" timeout 20 dlock run "$key" -- touch ran
    [[ "$output" == *"is held by an outer command, whose dlock cannot be reached from here"* ]]
  done
  at_the_door 65534 "dlock/${owner:0:16}/count" $'count\nentries=9\n'
  [ "$(holder_field "$key" count)" = 1 ]
  [ ! -s told ]
  [ ! -e ran ]
}

@test "a run inside as root, of a user's run (sudo), enters: its peer is one of its own ancestors" {
  need_root
  open_world
  need_servers
  install -d "$BATS_TEST_TMPDIR/libexec/dlock"
  cp -r "${DLOCK%/bin/dlock}/libexec/dlock/." "$BATS_TEST_TMPDIR/libexec/dlock/"
  use "$DLOCK_TEST_REDIS"
  key=root-$$
  install -m 4755 "$(command -v setpriv)" "$BATS_TEST_TMPDIR/bin/as_root"
  nobody as_root --reuid=0 true || skip "a file system without setuid programs"
  run -0 nobody dlock run "$key" -- as_root --reuid=0 --regid=0 --clear-groups -- env HOME="$HOME" dlock run -n "$key" -- \
    sh -c "id -u; dlock inspect --json $key"
  [ "${lines[0]}" = 0 ]
  [[ "${lines[1]}" == *'"count":2'* ]]
  # Beside it, with the same claim, root has no such ancestor.
  start_watched outer setpriv --reuid=65534 --regid=65534 --clear-groups -- env "HOME=$BATS_TEST_TMPDIR/nowhere" \
    dlock run "$key" -- sleep 60
  wait_until eval 'command_of outer >command.pid'
  run -78 env DLOCK_HELD="$(claim_of "$(cat command.pid)")" timeout 20 dlock run "$key" -- touch ran
  [ ! -e ran ]
}

@test "a run inside of another user cannot have root's keeper end anything but its own command" {
  need_root
  need_servers
  use "$DLOCK_TEST_REDIS"
  # Enters as a run does, says that some other process is the guard of its command, and is gone.
  cat >enters.py <<'PROGRAM'
import array, os, socket, sys
store, key, owner, token, secret = os.environ["DLOCK_HELD"].split("|")
fields = dict(url=os.environ["DLOCK_STORE"], name=key, owner="0" * 32, reason="", ttl=10**10, renew_interval=10**9)
fields |= dict(ancestor=f"{owner} {token} {secret}", secret="", ends_command=1, take=1)
for name in "mode permits fair lock_delay at_least once tries retry_interval connect_timeout has_fallback supersedes".split():
    fields[name] = 0
for name in "behind_nobody kill_after log.format log.quiet log.verbose log.colour".split():
    fields[name] = 0
os.setuid(65534)
keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
keeper.connect(f"\0dlock/{owner[:16]}/{secret[:16]}")
keeper.send("\n".join(["acquire"] + [f"{name}={value}" for name, value in fields.items()]).encode())
answer = keeper.recv(65536)
assert answer.startswith(b"granted"), answer
guard = os.pidfd_open(int(sys.argv[1]))
keeper.sendmsg([b"started"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [guard]))])
PROGRAM
  script parent <<'SCRIPT'
#!/bin/bash
sleep 60 &
echo $! >victim.pid
echo $$ >parent.pid
wait
SCRIPT
  start parent
  wait_until filled parent.pid
  local key=deputy-$$
  run dlock run "$key" -- "${python[@]}" enters.py "$(cat parent.pid)"
  echo "$output"
  [ "$status" = 0 ]
  wait_until is_free "$key" # a command that is being ended would keep it
  kill -0 "$(cat victim.pid)"
}
