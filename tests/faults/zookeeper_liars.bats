# SPDX-License-Identifier: Apache-2.0
# What listens where a ZooKeeper server should (tests/support/lying_zookeeper.py): lengths that nobody can have, strings that
# are not there, answers to other questions. The client library asserts, frees twice or writes where it may not; all the
# same no command runs without a lock, dlock says why in bounded time, no program needs more than 64 MiB for it, and none is
# left behind (tests/support/metered.py).
load ../support/cli

setup() {
  set_world
  liar=$servers/liar
}
teardown() { end_world; }

# start_liar [N]: see lying_zookeeper.py.
start_liar() {
  mkdir -p "$liar"
  rm -f "$liar/port"
  echo none >"$liar/mode"
  "${python[@]}" "$support/lying_zookeeper.py" "$liar" "$@" 3>&- &
  started+=("$!")
  disown "$!"
  wait_until filled "$liar/port"
  DLOCK_BACKEND=zk://127.0.0.1:$(<"$liar/port")/app
  export DLOCK_BACKEND
}
it_says() { echo "$1" >"$liar/mode"; } # a name in GREETINGS or LIES of lying_zookeeper.py
names_in() { # TABLE
  "${python[@]}" -c 'import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])
import lying_zookeeper; print(*(name for name in getattr(lying_zookeeper, sys.argv[2]) if name != "none"))' "$support" "$1"
}

# metered STATUSES COMMAND...: ends with one of these in time, with little memory, and leaves nothing behind.
metered() {
  local statuses=$1 word status ms kib left
  shift
  rm -f meter
  "${python[@]}" "$support/metered.py" meter "$@" >said 2>&1 3>&- || true
  read -r word status word ms word kib word left <meter
  printf '%-22s %s: %s\n' "$(cat "$liar/mode")" "$(cat meter)" "$(head -c 160 said | head -n 1 | cat -v)"
  [[ " $statuses " == *" $status "* ]] && ((ms < 15000 && kib < 65536 && left == 0)) && [ ! -e ran ]
}

@test "a server that only says what is true: the command runs" {
  start_liar
  run -0 dlock run -n k -- echo ran
  [ "$output" = ran ]
}

@test "whoever greets wrongly: 69, and it is said" {
  start_liar
  local lie
  for lie in $(names_in GREETINGS); do
    it_says "$lie"
    metered 69 dlock run -n --connect-timeout 500ms k -- touch ran
    grep -q '^dlock: cannot reach zk://' said
  done
}

@test "whatever it answers, no command runs without a lock, and the reason is said" {
  local lie
  for lie in $(names_in LIES); do
    start_liar
    it_says "$lie"
    case $lie in
      # The lock is in that answer.
      body-long | twice | event-unknown) metered '0 69' dlock run -n --connect-timeout 500ms k -- true ;;
      *)
        metered '69 78' dlock run -n --connect-timeout 500ms k -- touch ran
        grep -q '^dlock: ' said
        ;;
    esac
    if grep 'is gone$' said; then return 1; fi
  done
}

@test "commands that supervise nothing: 69 with the reason" {
  local lie
  for lie in body-noise names-huge; do
    start_liar
    it_says "$lie"
    metered 69 dlock inspect k
    metered 69 dlock inspect
    metered 69 dlock gc
    metered '0 69' dlock doctor
    metered 69 dlock check k 7
    metered '69 78' dlock stock show s
  done
}

@test "a holder's server begins to lie: the command is ended before its lease is, 79, and nothing is left" {
  local lie
  for lie in frame-huge frame-endless body-noise event-null events-endless error-expired; do
    start_liar 12
    it_says "$lie"
    metered 79 dlock run -n --ttl 3s --kill-after 200ms "k-$lie" -- sleep 30
    grep -q 'LOST k-' said
  done
}
