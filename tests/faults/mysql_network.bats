# SPDX-License-Identifier: Apache-2.0
# MySQL behind a network that fails (failing_network): silent, slow, cut. The lease, unless a test names
# another strategy; see mysql.bats.
load ../support/cli
load ../support/faults
load ../support/mysql

setup() {
  set_world
  script_section
  start_mysql_with_tables one
  start_proxy one mysql
  direct=$(mysql_url one)
  use "$(mysql_url proxy)"
}
teardown() { end_world; }

@test "black hole: the command is ended before its lease is, 79; the next one does not overlap" { black_hole hold; }

# bats test_tags=all
@test "an outage under a waiter, shorter than its wait: refused" { outage_under_a_waiter refuse; }

# bats test_tags=all
@test "a waiter in a black hole keeps to --wait, and keeps nobody else waiting" {
  DLOCK_BACKEND=$direct hold_lock k
  start_watched b dlock run -q -w 2 --ttl 2s k -- touch ran
  DLOCK_BACKEND=$direct wait_until has 1 waiters k
  network drop
  [[ "$(how_ended b)" == "exit 75" || "$(how_ended b)" == "exit 69" ]]
  [ ! -e ran ]
  let_go
  run -0 dlock run -b "$direct" -q -w 10 k -- true
}

@test "connections reset, again and again: holder and waiter go on" { connections_reset 2s 2 8 0.2; }

# bats test_tags=all
@test "cut when it renews: a holder is asked to end long before its next renewal" { revoked_after_a_cut "$direct"; }

# --- cut behind the n-th packet --------------------------------------------------------------------------------------

# How many packets go in each direction for what follows `network count`, taken from a run that nobody cuts.
packets() { # COMMAND...
  network count >/dev/null
  "$@"
  read -r requests replies < <(network count)
  echo "packets: $requests requests, $replies replies" >&2
  [ "$requests" -gt 3 ]
  [ "$replies" -gt 3 ]
}
behind_each_packet() { # FUNCTION...: calls it for each DIRECTION and number of a packet
  local direction n
  for direction in requests replies; do
    for ((n = 0; n <= ${!direction}; n++)); do "$@" "$direction" "$n"; done
  done
}

# A whole life: acquire, some renewals, release.
life() { # KEY
  dlock run -w $((5 * slowness)) --ttl $((1500 * slowness))ms "$1" -- sh -c "echo ran >>ran; sleep $((6 * slowness))e-1"
}

cut_life() { # DIRECTION N
  rm -f ran
  network cut "$1" "$2"
  run life "k-$1-$2"
  [[ "$status" = 0 && "$(wc -l <ran)" = 1 ]] || { echo "$1 $2: $status, $output"; false; }
  DLOCK_BACKEND=$direct is_free "k-$1-$2"
}
# bats test_tags=all
@test "lease cut behind every single packet of a life, in both directions: ran once, released, nobody is told otherwise" {
  packets life first
  behind_each_packet cut_life
}

acquire_in_silence() { # requests|replies N
  [ "$1" = replies ] || return 0
  network hang 1
  network cut replies "$2"
  run --separate-stderr dlock acquire -n --ttl "$((60 * slowness))s" "s-$2"
  [[ "$status" = 69 && -z "$output" || "$status" = 0 && "$2" = "$replies" ]] || { echo "$2: $status, $output"; false; }
}
# bats test_tags=all
@test "acquire: a server that falls silent behind any packet has given a handle that is good, or none" {
  packets dlock acquire --ttl 30s first >granted
  behind_each_packet acquire_in_silence
  read -r owner _ <<<"$output"
  DLOCK_BACKEND=$direct dlock release --owner "$owner" "s-$replies"
}

# With the others a connection that is gone may be the lock that is gone: then nothing has run, or it was ended, 79. No
# outcome is a wrong one; nobody runs twice, nothing stays held.
cut_life_of() { # STRATEGY DIRECTION N
  rm -f ran
  network cut "$2" "$3"
  run life "k-$2-$3"
  [[ "$status" = 0 && "$(wc -l <ran)" = 1 || "$status" = 79 ]] || { echo "$2 $3: $status, $output"; false; }
  [ ! -e ran ] || [ "$(wc -l <ran)" = 1 ]
  run -0 dlock run -b "$direct?strategy=$1" -q -w 10 "k-$2-$3" -- true
}
cut_everywhere() { # STRATEGY
  use "$(mysql_url proxy)?strategy=$1"
  packets life first
  behind_each_packet cut_life_of "$1"
}

# bats test_tags=all
@test "session cut behind every single packet: run once or ended with 79, and free afterwards" { cut_everywhere session; }
# bats test_tags=all
@test "occupy cut behind every single packet: run once or ended with 79, and free afterwards" { cut_everywhere occupy; }
