# SPDX-License-Identifier: Apache-2.0
# PostgreSQL servers of one's own, for bats files that kill or stop them and for scripts/start-test-servers.
#
# A new server has the databases "locks" and "shop", both empty, and these users, who come from this machine:
#   app        no password; the rights that dlock-postgres(7) names, and no other
#   guarded    the same with the password "secret"      certified   the same with a client certificate
#   owner      no password; makes tables                reader      password "reader-secret"; may only look
#   stranger   no password, no rights                   root        no password; everything

# shellcheck source=tests/support/servers.bash
. "${BASH_SOURCE[0]%/*}/servers.bash"

# Debian has the programs of each release in a folder of its own.
postgres_programs() {
  local folders=("$root_of_servers"/usr/lib/postgresql/*/bin)
  echo "${folders[-1]}"
}

# A server refuses to be root's, and so do its tools: there it is nobody's, and so is its folder.
as_postgres() { # PROGRAM WORD...
  local before=()
  [ "$(id -u)" != 0 ] || before=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
  exec "${before[@]}" "$(postgres_programs)/$1" "${@:2}"
}

# What every server begins with is made once: by scripts/start-test-servers, or else by the file that asks first.
postgres_beginning() {
  local at=${DLOCK_TEST_SERVERS:-${BATS_FILE_TMPDIR:-$servers}}/postgres-beginning
  if [ ! -d "$at" ]; then
    rm -rf -- "$at.part"
    mkdir -p "$at.part"
    open_to_postgres "$at.part"
    { (as_postgres initdb --pgdata="$at.part" --username=root --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync --no-instructions) &&
      postgres_roles | (as_postgres postgres --single -D "$at.part" -F -j postgres) &&
      postgres_rights | (as_postgres postgres --single -D "$at.part" -F -j locks) &&
      postgres_rights | (as_postgres postgres --single -D "$at.part" -F -j shop); } >"$at.log" 2>&1 || { tail -n 5 "$at.log" >&2; return 1; }
    cat >"$at.part/pg_hba.conf" <<'END'
local   all         all                             trust
hostssl all         certified       127.0.0.0/8     cert
host    all         guarded,reader  127.0.0.0/8     scram-sha-256
host    all         app,sealed,owner,stranger,root  127.0.0.0/8  trust
host    replication root            127.0.0.0/8     trust
END
    mv -T "$at.part" "$at"
  fi
  echo "$at"
}

# A standby of a server: it follows, and only answers reads. promote_postgres NAME makes it a server like any other.
start_standby() { # NAME SERVER
  local folder=$servers/$1
  mkdir -p "$folder/data"
  chmod 700 "$folder/data"
  open_to_postgres "$folder/data"
  (as_postgres pg_basebackup --pgdata="$folder/data" --host=127.0.0.1 --port="$(port_of "$2")" --username=root --checkpoint=fast --no-sync --write-recovery-conf)
  begin_postgres "$1" "primary_conninfo='host=127.0.0.1 port=$(port_of "$2") user=root'"
  wait_until pg_says "$2" "SELECT count(*) FROM pg_stat_replication WHERE state='streaming'" 1
}
promote_postgres() { pg "$1" 'SELECT pg_promote()' >/dev/null && wait_until pg_says "$1" 'SELECT pg_is_in_recovery()' f; }

# PgBouncer before the database "locks" of a server. MODE: session, transaction. AUTH: md5, where guarded alone has a password.
start_pgbouncer() { # NAME SERVER MODE [AUTH]
  local folder=$servers/$1 pid
  mkdir -p "$folder/data"
  some_port >"$folder/port"
  printf '%s\n' '[databases]' "locks = host=127.0.0.1 port=$(port_of "$2")" '[pgbouncer]' "listen_port=$(port_of "$1")" listen_addr=127.0.0.1 \
    unix_socket_dir= "auth_type=${4:-trust}" auth_file=users "pool_mode=$3" default_pool_size=2 max_client_conn=100 >"$folder/data/pgbouncer.ini"
  printf '"%s" "%s"\n' app '' owner '' root '' guarded secret >"$folder/data/users"
  open_to_postgres "$folder/data"
  (
    cd "$folder/data" || exit
    as_postgres ../../../../sbin/pgbouncer pgbouncer.ini 3>&- </dev/null >>"$folder/log" 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  echo "$pid" >"$folder/pid"
  wait_for_log "$pid" "$folder/log" 'process up'
}

# Lets the user that servers run as into a folder of ours, which others may not look into.
open_to_postgres() { # FOLDER
  [ "$(id -u)" = 0 ] || return 0
  local above=$1
  chown -R 65534:65534 "$1"
  while above=${above%/*} && [ "$above" ] && [ "$above" != /tmp ]; do
    [ "$(stat -c %u "$above")" != 0 ] || chmod a+x "$above"
  done
}

postgres_roles() {
  printf '%s;\n\n' 'CREATE ROLE app LOGIN' 'CREATE ROLE owner LOGIN' 'CREATE ROLE stranger LOGIN' 'CREATE ROLE certified LOGIN' \
    "CREATE ROLE guarded LOGIN PASSWORD 'secret'" "CREATE ROLE reader LOGIN PASSWORD 'reader-secret'" \
    'CREATE DATABASE locks OWNER owner' 'CREATE DATABASE shop OWNER owner'
}
postgres_rights() {
  printf '%s;\n\n' 'ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO app, guarded, certified' \
    'ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT ON TABLES TO reader'
}

# start_postgres NAME [SETTING=VALUE...]: a new server. Returns when it takes connections; postgres_url NAME says where.
start_postgres() {
  local name=$1 beginning
  shift
  beginning=$(postgres_beginning) || return
  mkdir -p "$servers/$name"
  cp -rpT -- "$beginning" "$servers/$name/data"
  local papers=${certificates:-${DLOCK_TEST_CERTIFICATES-}}
  if [ "$papers" ]; then
    cp "$papers"/{ca.crt,server.crt,server.key} "$servers/$name/data"
    set -- ssl=on "ssl_ca_file='ca.crt'" "$@"
  fi
  begin_postgres "$name" "$@"
}

begin_postgres() { # NAME [SETTING=VALUE...]: in the data that it has
  local name=$1 folder=$servers/$1 setting _
  for _ in {1..20}; do
    some_port >"$folder/port"
    {
      printf '%s\n' "port=$(port_of "$name")" "unix_socket_directories='$folder/data'" "listen_addresses='127.0.0.1,127.0.0.2'" max_connections=400 \
        shared_buffers=16MB wal_level=replica max_wal_senders=4 logging_collector=off log_destination=stderr "log_min_messages=warning" \
        max_parallel_workers=0 autovacuum_naptime=5s checkpoint_timeout=1h jit=off timezone=UTC log_timezone=UTC
      for setting in "${@:2}"; do echo "$setting"; done
    } >"$folder/data/postgresql.auto.conf"
    open_to_postgres "$folder/data"
    ! launch_postgres "$name" || return 0
    grep -qF 'Address already in use' "$folder/log" || break
  done
  echo "postgres $name does not start:" >&2
  tail -n 5 "$servers/$name/log" >&2
  return 1
}

# Starts again what was killed: same port, same settings, same data.
restart_postgres() { launch_postgres "$1"; }

launch_postgres() { # NAME
  local folder=$servers/$1 pid
  : >"$folder/log"
  rm -f "$folder/data/postmaster.pid"
  (
    cd "$folder/data" || exit
    as_postgres postgres -D "$folder/data" 3>&- </dev/null >>"$folder/log" 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  echo "$pid" >"$folder/pid"
  wait_for_log "$pid" "$folder/log" 'ready to accept|recovery.*ready|read.only connections'
}

postgres_url() { echo "postgres://${2:-app}@127.0.0.1:$(port_of "$1")/locks"; } # NAME [USER]

# A server with dlock's tables, for tests of the program: it is the store from now on.
start_postgres_with_tables() { # NAME [SETTING=VALUE...]
  start_postgres "$@"
  # shellcheck disable=SC2154 # of cli.bash
  env -u DLOCK_BACKEND "$DLOCK" setup --connect-timeout "$((10 * slowness))s" -b "$(postgres_url "$1" owner)" >/dev/null
  use "$(postgres_url "$1")"
}

# psql as a user (root unless said otherwise): pg [USER@]NAME STATEMENTS prints rows, columns apart by bars.
pg() {
  local user=root name=$1
  [[ $name != *@* ]] || { user=${name%@*} name=${name#*@}; }
  env -i "PATH=$PATH" psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 --host=127.0.0.1 --port="$(port_of "$name")" \
    --username="$user" --dbname="${4:-locks}" --command="$2"
}
# What the server says and who asks: to end all connections of dlock's.
end_sessions() { pg "$1" "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename='app'" >/dev/null; } # NAME
pg_says() { [ "$(pg "$1" "$2" 2>/dev/null)" = "$3" ]; } # [USER@]NAME STATEMENT ANSWER

# The server NAME as the store of tests that kill it and start it again; $protocol is how failing_network reads it.
begin_with_postgres() { protocol=bytes && start_postgres_with_tables "$1"; } # NAME
