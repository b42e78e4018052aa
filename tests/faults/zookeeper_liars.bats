# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# What listens where a ZooKeeper server should (tests/support/lying_zookeeper.py): lengths that nobody can have, strings that
# are not there, answers to other questions. The client library asserts, frees twice or writes where it may not; all the
# same no command runs without a lock, dlock says why in bounded time, no program needs more than 64 MiB for it, and none is
# left behind (tests/support/metered.py).
load ../support/cli
load ../support/liars

setup() {
  set_world
  liar=$servers/liar
  mkdir -p "$liar"
}
teardown() { end_world; }

# start_liar [N]: see lying_zookeeper.py.
start_liar() {
  it_says none
  start_liar_program lying_zookeeper "$@"
  DLOCK_BACKEND=zk://127.0.0.1:$(<"$liar/port")/app
  export DLOCK_BACKEND
}
names_in() { # TABLE
  "${python[@]}" -c 'import sys; sys.path.insert(0, sys.argv[1])
import lying_zookeeper; print(*(name for name in getattr(lying_zookeeper, sys.argv[2]) if name != "none"))' "$support" "$1"
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

@test "sessions that are over as soon as they are made, and a port for TLS: 69 by --connect-timeout, with the reason" {
  start_liar
  local words
  it_says error-expired
  for words in "run -n" "run -w 20s" "run"; do
    # shellcheck disable=SC2086
    metered 69 dlock ${words%% *} --connect-timeout 500ms ${words#run} k -- touch ran
    grep -q 'ends every session as soon as it is made' said
  done
  metered 69 dlock inspect k
  it_says greeting-tls
  metered 69 dlock run -n --connect-timeout 500ms k -- touch ran
  grep -q 'TLS' said
  [ ! -e ran ]
}

@test "whatever it answers, no command runs without a lock, and the reason is said" {
  local lie
  for lie in $(names_in LIES); do
    start_liar
    it_says "$lie"
    case $lie in
      # The lock is in that answer, or the lie comes after it, unless the client library dies of it.
      body-half | body-long | twice | event-unknown | multi-*) metered '0 69 70' dlock run -n --connect-timeout 500ms k -- true ;;
      *)
        metered '69 70 78' dlock run -n --connect-timeout 500ms k -- touch ran
        grep -q '^dlock: ' said
        ;;
    esac
    if grep 'is gone$' said; then return 1; fi
  done
}

# What makes no sense may crash the client library (-11, -6), which ends a command that has no supervisor to say so.
@test "commands that supervise nothing: 69 with the reason, or 70 if the library died of it" {
  local lie
  for lie in body-noise names-huge; do
    start_liar
    it_says "$lie"
    says_it '69 70' dlock inspect k
    says_it '69 70' dlock inspect
    says_it '69 70' dlock gc
    says_it '0 69 70' dlock doctor
    says_it '69 70' dlock check k 7
    says_it '69 70 78' dlock stock show s
  done
}
says_it() { # STATUSES COMMAND...
  metered "$@" || return
  [ "$met_status" -ne 70 ] || grep -q '^dlock: the client library died of SIG[A-Z]* while it read the answer of zk://127.0.0.1:' said
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
