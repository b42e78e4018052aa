# SPDX-License-Identifier: Apache-2.0
# PostgreSQL when something goes wrong: processes, the server, a standby, a pooler, settings of a role. Each test has a
# server of its own, and the user "app" with no more rights than the manual asks for. What the commands did is judged by
# their histories (verify check).
load ../support/cli
load ../support/faults
load ../support/postgres
load ../support/mounts

setup() {
  set_world
  script_section
}
teardown() { end_world; }

with_tables() { start_postgres_with_tables one "$@"; }
session() { use "$(postgres_url "${1:-one}")?strategy=session"; }
as_a_rule() { pg one "ALTER ROLE app SET $1"; } # SETTING
holds_in_session() { # [SETTING...]
  with_tables "$@"
  session
  start_watched a dlock run --ttl 60s k -- section --for 30
  wait_until begun 1
}

# --- processes and the server ----------------------------------------------------------------------------------------

@test "supervisor SIGKILLed: its command is ended, then the lock is free at once, long before the lease ends" {
  with_tables
  supervisor_killed $((1000 * slowness))
}

@test "server SIGKILLed and restarted under a holder and a waiter: the lease goes on, nobody notices" {
  with_tables
  start_watched a dlock run --ttl $((5 * slowness))s k -- section --for $((3 * slowness))
  wait_until begun 1
  wait_section b
  kill_server one
  restart_postgres one
  run -75 dlock run -q -n k -- true
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "the connections of holder and waiter are ended by the server, again and again: nobody notices" {
  with_tables
  start_watched a dlock run --ttl $((5 * slowness))s k -- section --for $((3 * slowness))
  wait_until begun 1
  wait_section b
  local _
  for _ in 1 2 3 4 5; do
    end_sessions one
    sleep 0.2
  done
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

# --- what a role, an administrator or a network may have set ----------------------------------------------------------

@test "a grant that was answered is there after an immediate stop, though the role commits asynchronously" {
  with_tables wal_writer_delay=10s
  as_a_rule synchronous_commit=off
  local n token
  for n in 1 2 3 4 5; do
    read -r _ token < <(dlock acquire -t 60s "k$n")
    kill_server one QUIT
    restart_postgres one
    run -0 dlock inspect "k$n"
    [[ $output == *"token $token"* ]]
  done
}

@test "a role that has no standard strings: it shuts out the others, and programs that lock the same number" {
  with_tables
  session
  hold_lock nightly
  as_a_rule standard_conforming_strings=off
  run -75 dlock run -n nightly -- true
  [ "$(pg one "SELECT pg_try_advisory_lock(hashtextextended('nightly' COLLATE \"C\",0))")" = f ]
  let_go
  use "$(postgres_url one)"
  run -0 dlock stock create phone --quantity 3 --segments 2
  run -0 dlock stock take -q phone --qty 2
  run -0 dlock stock show phone
  run -0 dlock run --once s k -- true
  run -0 dlock run --once s k -- touch again
  [ ! -e again ]
}

@test "a role whose transactions are serializable by default: locks and sales as ever" {
  with_tables
  as_a_rule "default_transaction_isolation='serializable'"
  dlock stock create phone --quantity 40 --segments 2
  local n
  for n in 1 2 3 4; do start_watched "w$n" sh -c 'for i in 1 2 3 4 5; do dlock run -q k -- section && dlock stock take -q phone || exit; done'; done
  for n in 1 2 3 4; do [ "$(how_ended "w$n")" = "exit 0" ]; done
  history check --sections 20
  run -0 dlock stock show phone
  [[ $output == *20* ]]
}

@test "a server that reads and refuses to write is an outage with an end, and says why: 69" {
  with_tables
  as_a_rule default_transaction_read_only=on
  local began=$SECONDS
  run -69 --separate-stderr dlock run --connect-timeout "${slowness}s" k -- touch ran
  [[ $stderr == *read-only* ]]
  [ ! -e ran ]
  [ $((SECONDS - began)) -lt $((10 * slowness)) ]
  run -69 --separate-stderr dlock stock create phone --quantity 1
  [[ $stderr == *read-only* ]]
}

@test "it becomes read-only under a waiter, and writable again: granted" {
  with_tables
  start_watched hold dlock run --ttl 60s k -- sh -c 'touch in; until [ -e go ]; do sleep 0.05; done'
  wait_until test -e in
  start_watched waiter dlock run k -- touch ran 2>said
  wait_until has 1 waiters k
  as_a_rule default_transaction_read_only=on
  end_sessions one
  sleep 1
  pg one "ALTER ROLE app RESET default_transaction_read_only"
  end_sessions one
  touch go
  [ "$(how_ended waiter)" = "exit 0" ]
  [ "$(how_ended hold)" = "exit 0" ]
  [ -e ran ]
}

@test "time-outs of idle sessions and idle transactions end nothing" {
  with_tables
  as_a_rule idle_in_transaction_session_timeout=50
  as_a_rule idle_session_timeout=100
  start_watched a dlock run --ttl $((3 * slowness))s k -- section --for $((2 * slowness))
  wait_until begun 1
  wait_section b
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "rights, logins and databases that are refused: 77 and 78, with what to do" {
  with_tables
  local at
  at=127.0.0.1:$(port_of one)
  run -77 --separate-stderr dlock run -b "postgres://stranger@$at/locks" k -- true
  [[ $stderr == *'privileges that are needed'* ]]
  run -77 --separate-stderr dlock run -b "postgres://guarded:wrong@$at/locks" k -- true
  [[ $stderr == *'refused the login'*28P01* ]]
  run -77 --separate-stderr dlock run -b "postgres://guarded@$at/locks" k -- true
  run -77 --separate-stderr dlock run -b "postgres://nobodyelse@$at/locks" k -- true
  [[ $stderr == *28000* ]]
  run -78 --separate-stderr dlock run -b "postgres://app@$at/nowhere" k -- true
  [[ $stderr == *'existing database'* ]]
  run -78 --separate-stderr dlock run -b "postgres://app@$at/shop" k -- true
  [[ $stderr == *'dlock setup'* ]]
  run -77 --separate-stderr dlock run -b "postgres://reader:reader-secret@$at/locks" k -- true
  run -0 dlock inspect -b "postgres://reader:reader-secret@$at/locks"
}

@test "the rights that setup --print names are all that is needed, and doctor says which are missing" {
  with_tables
  pg one 'REVOKE EXECUTE ON FUNCTION dlock_commit, dlock_sum FROM PUBLIC'
  run -77 --separate-stderr dlock run -n k -- true
  [[ $stderr == *'dlock setup --print'* ]]
  run -77 dlock doctor
  [[ $output == *dlock_commit* ]]
  pg one 'REVOKE USAGE ON SCHEMA public FROM PUBLIC'
  run -77 dlock doctor
  [[ $output == *'may not use the schema public'* ]]
  run -78 --separate-stderr dlock setup
  [[ $stderr == *search_path* ]]
  pg one 'REVOKE ALL ON dlock_rows FROM app'
  pg one "$(dlock setup --print | sed -n 's/^-- GRANT/GRANT/p')"
  run -0 dlock run -n k -- true
  run -0 dlock stock create phone --quantity 1
  run -0 dlock stock take phone
  run dlock doctor
  [[ $output == *'this user may change it'* ]]
}

@test "nothing is read from PG* variables, ~/.pgpass or ~/.pg_service.conf, and the command has them" {
  with_tables
  echo "*:*:*:*:secret" >"$HOME/.pgpass"
  chmod 600 "$HOME/.pgpass"
  export PGHOST=nowhere.invalid PGHOSTADDR=192.0.2.1 PGPORT=1 PGUSER=nobody PGDATABASE=nowhere PGPASSWORD=secret PGSSLMODE=verify-full PGOPTIONS='-c nonsense=1' \
    PGSERVICE=none PGTARGETSESSIONATTRS=standby PGAPPNAME=x PGCLIENTENCODING=LATIN1 PGREQUIREAUTH=none PGCONNECT_TIMEOUT=1
  run -0 --separate-stderr dlock run k -- sh -c 'echo "$PGHOST $PGPASSWORD"'
  [ "$output" = "nowhere.invalid secret" ]
  [ -z "$stderr" ]
  run -77 dlock run -b "postgres://guarded@127.0.0.1:$(port_of one)/locks" k -- true
}

@test "a password file is read again when the server refuses the login" {
  with_tables
  echo secret >password
  chmod 600 password
  use "postgres://guarded@127.0.0.1:$(port_of one)/locks?password-file=$PWD/password"
  start_watched a dlock run --ttl $((6 * slowness))s k -- section --for $((5 * slowness))
  wait_until begun 1
  pg one "ALTER ROLE guarded PASSWORD 'other'"
  echo other >password
  pg one "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename='guarded'" >/dev/null
  [ "$(how_ended a)" = "exit 0" ]
}

@test "TLS: the server's certificate is checked, ours is shown; a socket and a name that is looked up serve as well" {
  need_servers
  with_tables
  local at paper=$DLOCK_TEST_CERTIFICATES name url _
  at=127.0.0.1:$(port_of one)
  sed -i 's/^hostssl.*/hostssl all certified 127.0.0.0\/8 trust clientcert=verify-ca/' "$servers/one/data/pg_hba.conf"
  pg one 'SELECT pg_reload_conf()' >/dev/null
  for name in client other-client expired; do (umask 077 && cat "$paper/$name.key" >"$name.key"); done
  run -0 dlock run -b "postgres://app@$at/locks?ca-file=$paper/ca.crt" k -- true
  run dlock doctor -b "postgres://app@$at/locks?ca-file=$paper/ca.crt"
  [[ $output == *'encrypted, certificate checked'* ]]
  run -78 --separate-stderr dlock run -b "postgres://app@$at/locks?ca-file=$paper/other-ca.crt" k -- true
  [[ $stderr == *'certificate verify failed'* ]]
  run -0 dlock run -b "postgres://certified@$at/locks?ca-file=$paper/ca.crt&cert-file=$paper/client.crt&key-file=$PWD/client.key" k -- true
  run -77 dlock run -b "postgres://certified@$at/locks?ca-file=$paper/ca.crt" k -- true
  for name in other-client expired; do
    url="postgres://certified@$at/locks?ca-file=$paper/ca.crt&cert-file=$paper/$name.crt&key-file=$PWD/$name.key"
    for _ in {1..10}; do
      run -77 --separate-stderr dlock run -n --if-unavailable run -b "$url" k -- touch ran
      [[ $stderr == *'refused our certificate'* ]]
    done
  done
  chmod 644 client.key
  for name in client other-client; do # one that others may read, and one of another certificate
    run -78 --separate-stderr dlock run -n --if-unavailable run \
      -b "postgres://certified@$at/locks?ca-file=$paper/ca.crt&cert-file=$paper/client.crt&key-file=$PWD/$name.key" k -- touch ran
    [[ $stderr == *'cert-file and key-file'* ]]
  done
  [ ! -e ran ]
  run -0 dlock run -b "postgres://app@localhost:$(port_of one)/locks" k -- true
  run -0 dlock run -b "postgres://app@/locks?socket=$servers/one/data/.s.PGSQL.$(port_of one)" k -- true
}

# --- the network -----------------------------------------------------------------------------------------------------

@test "the first of two servers is silent: the second has its share of the time, and is asked first from then on" {
  with_tables
  start_proxy one bytes
  network hold
  use "postgres://app@127.0.0.1:$(port_of proxy),127.0.0.1:$(port_of one)/locks"
  run -0 dlock run --connect-timeout 2s k -- true
}

@test "a silent network: the command is ended with 79 before its lease is over, the next one does not overlap" {
  with_tables
  start_proxy one bytes
  direct=$(postgres_url one)
  use "$(postgres_url proxy)"
  black_hole drop
}

# bats test_tags=all
@test "cut when it renews: a holder is asked to end long before its next renewal" {
  with_tables
  start_proxy one bytes
  use "$(postgres_url proxy)"
  revoked_after_a_cut "$(postgres_url one)"
}

@test "connections are cut behind each message: one take is one take, one run is one run" {
  with_tables
  start_proxy one bytes
  local direct n taken=0
  direct=$(postgres_url one)
  dlock stock create phone --quantity 300 --segments 7
  use "$(postgres_url proxy)"
  for n in {0..9}; do
    for way in requests replies; do
      network cut "$way" "$n"
      run -0 dlock stock take -q phone --qty 3 --id "$way-$n"
      taken=$((taken + 3))
      network cut "$way" "$n"
      run -0 dlock run -q k -- section
    done
  done
  history check --sections 20
  use "$direct"
  [ "$(dlock stock show phone --json | "$programs/json_part" /taken)" = "$taken" ]
}

# --- a standby -------------------------------------------------------------------------------------------------------

@test "the primary stops and its standby is promoted under a holder and a waiter: the hold goes on, the waiter is granted" {
  with_tables
  start_standby two one
  use "postgres://app@127.0.0.1:$(port_of two),127.0.0.1:$(port_of one)/locks"
  start_watched a dlock run --ttl $((6 * slowness))s k -- section --for $((4 * slowness))
  wait_until begun 1
  wait_section b
  wait_until has 1 waiters k
  pg one "SELECT pg_switch_wal()" >/dev/null
  wait_until pg_says one "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn=pg_current_wal_lsn()" 1
  kill_server one QUIT
  promote_postgres two
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "a standby alone refuses for as long as it is one: 69, and doctor says what it is and what a promotion may cost" {
  with_tables
  start_standby two one
  run -69 --separate-stderr dlock run --connect-timeout "${slowness}s" -b "$(postgres_url two)" k -- true
  [[ $stderr == *read-only* ]]
  run -69 dlock doctor -b "$(postgres_url two)"
  [[ $output == *standby* ]]
  run dlock doctor
  [[ $output == *'asynchronous standbys'* ]]
}

@test "one name with two addresses: the server that takes changes is found after one that does not, and without it there are answers" {
  # shellcheck disable=SC2154 # of mounts_apart
  mounts_apart || skip "no right to mount"
  with_tables
  as_a_rule default_transaction_read_only=on
  local port
  port=$(port_of one)
  start_postgres two "listen_addresses='127.0.0.3'" "port=$port"
  run -0 dlock setup -b "postgres://owner@127.0.0.3:$port/locks"
  at_both() { # ADDRESS ADDRESS WORD...
    printf '%s cluster\n' "$1" "$2" >hosts
    run "${apart[@]}" sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh "${@:3}" -b "postgres://app@cluster:$port/locks" k
  }
  at_both 127.0.0.1 127.0.0.3 dlock acquire --ttl 60s
  [ "$status" = 0 ]
  run -0 dlock inspect -b "postgres://app@127.0.0.3:$port/locks" k
  [[ $output == *token* ]]
  at_both 127.0.0.1 127.0.0.2 dlock acquire --ttl 60s -n
  [ "$status" = 69 ]
  [[ $output == *read-only* ]]
  at_both 127.0.0.1 127.0.0.2 dlock inspect
  [ "$status" = 0 ]
  # who has had the one that takes changes waits for it, whatever the other one answers
  use "postgres://app@127.0.0.3:$port/locks"
  printf '%s cluster\n' 127.0.0.1 127.0.0.3 >hosts
  start_watched a "${apart[@]}" sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh \
    dlock run --connect-timeout 2s --progress always -b "postgres://app@cluster:$port/locks" k -- true 2>said
  wait_until has 1 waiters k
  kill_server two QUIT
  wait_until grep -q 'until it answers' said
  sleep 3
  restart_postgres two
  run -0 dlock force-release --yes k
  [ "$(how_ended a)" = "exit 0" ]
  # a silent one leaves time to ask the other
  kill -STOP "$(pid_of_server two)"
  at_both 127.0.0.3 127.0.0.1 dlock inspect --connect-timeout "$((3 * slowness))s"
  kill -CONT "$(pid_of_server two)"
  [ "$status" = 0 ]
}

# --- a pooler --------------------------------------------------------------------------------------------------------

@test "through PgBouncer, which gives each transaction another session: leases, waits and stocks as ever" {
  with_tables
  start_pgbouncer pool one transaction
  use "$(postgres_url pool)"
  local n
  for n in 1 2 3 4; do start_watched "w$n" sh -c 'for i in 1 2 3; do dlock run -q k -- section || exit; done'; done
  for n in 1 2 3 4; do [ "$(how_ended "w$n")" = "exit 0" ]; done
  history check --sections 12
  run -0 dlock stock create phone --quantity 10
  run -0 dlock stock take phone --qty 2
  # Nothing of ours is left in its sessions.
  [ -z "$(pg app@pool 'SELECT pg_listening_channels()')" ]
  run dlock doctor
  [[ $output == *'is a pooler'* ]]
}

@test "logins and databases that PgBouncer refuses are no outage: 77 and 78" {
  with_tables
  start_pgbouncer pool one transaction md5
  local at who
  at=127.0.0.1:$(port_of pool)
  run -0 dlock run -b "postgres://guarded:secret@$at/locks" k -- true
  for who in guarded:wrong nobodyelse:secret; do
    run -77 --separate-stderr dlock run -n --if-unavailable run -b "postgres://$who@$at/locks" k -- touch ran
    [[ $stderr == *'refused the login'* ]]
  done
  run -78 --separate-stderr dlock run -n --if-unavailable run -b "postgres://guarded:secret@$at/nowhere" k -- touch ran
  [[ $stderr == *'existing database'* ]]
  [ ! -e ran ]
}

@test "strategy=session is refused behind a pooler: 78" {
  with_tables
  start_pgbouncer pool one transaction
  session pool
  run -78 --separate-stderr dlock run k -- touch ran
  [[ $stderr == *pooler* ]]
  [ ! -e ran ]
}

# --- strategy=session ------------------------------------------------------------------------------------------------

@test "session: excludes pg_advisory_lock of other programs, for words and for numbers" {
  with_tables
  session
  script ask <<SCRIPT
#!/bin/sh
exec psql -XqAt -h 127.0.0.1 -p $(port_of one) -U app -c "\$1" locks
SCRIPT
  run -0 dlock run nightly -- ask "SELECT pg_try_advisory_lock(hashtextextended('nightly',0))"
  [ "$output" = f ]
  run -0 dlock run 42 -- ask "SELECT pg_try_advisory_lock(42), pg_try_advisory_lock(43)"
  [ "$output" = 'f|t' ]
  run -0 dlock run -- -7 true
  start_watched other ask "SELECT pg_advisory_lock(42), pg_sleep(60)"
  wait_until pg_says one "SELECT count(*) FROM pg_locks WHERE locktype='advisory'" 1
  run -75 dlock run -n 42 -- true
  run -0 dlock inspect 42
  [[ $output == *'another session'* ]]
  run -0 dlock force-release --yes 42
  run -0 dlock run -n 42 -- true
}

@test "session: its connection ends: the command is ended at once, 79, and never made again in silence" {
  holds_in_session
  end_sessions one
  [ "$(how_ended a)" = "exit 79" ]
  run -0 dlock run -n k -- true
}

@test "session: force-release looks whose the lock is and ends that session in one statement, so that it ends no later one" {
  holds_in_session log_statement=all
  run -0 dlock force-release --yes k
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(grep -c pg_terminate_backend "$servers/one/log")" = 1 ]
  grep pg_terminate_backend "$servers/one/log" | grep -q 'FROM pg_locks .*application_name=\$1'
  run -0 dlock run -n k -- true
}

records() { pg_says one "SELECT count(*) FROM dlock_rows WHERE space='session' AND text<>''" "$1"; } # HOW-MANY
@test "session: gc removes the record of a session that has ended, and leaves that of one that lives" {
  holds_in_session
  end_sessions one
  [ "$(how_ended a)" = "exit 79" ]
  hold_lock other
  records 2
  run -0 dlock gc --dry-run
  [[ $output == *k*'session that has ended'* ]]
  records 2
  run -0 dlock gc
  [[ $output == *k*'session that has ended'* ]]
  [[ $output != *other* ]]
  records 1
  let_go
}

# Waiters are not listed.
wait_as_b() {
  start_watched b dlock run -q --ttl 2s k -- section
  wait_until keeper_of b
}

@test "session: supervisor SIGKILLed: its command is ended, then the lock is free at once" {
  holds_in_session
  wait_as_b
  kill -KILL "$(pid_of a)"
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below $((1500 * slowness))
}

@test "session: a silent network: KILL before the server lets go, and the server does let go" {
  with_tables
  start_proxy one bytes
  session proxy
  hold_section a --stubborn
  session
  wait_as_b
  network drop
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
}

@test "session: what it cannot be is refused: shared, permits, fair, a lease without a process" {
  with_tables
  session
  run -78 dlock run --shared k -- true
  run -78 dlock run --permits 2 k -- true
  run -78 dlock run --fair k -- true
  run -78 dlock acquire --ttl 1m k
  run -78 dlock run --lock-delay 1s k -- true
  # Said before a server is asked: it would have to end a silent session after that time.
  run -78 --separate-stderr dlock run -n --ttl 25d -b 'postgres://app@127.0.0.1:1/locks?strategy=session' k -- true
  [[ $stderr == *'24 d 20 h'* ]]
  run -0 dlock run --ttl 24d k -- true
}
