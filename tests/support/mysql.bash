# SPDX-License-Identifier: Apache-2.0
# MariaDB servers of one's own, for bats files that kill or stop them and for scripts/start-test-servers.
#
# A new server has the databases "locks" and "shop", both empty, and these users, who come from anywhere:
#   app        no password; the rights that dlock-mysql(7) names, and no other
#   guarded    the same with the password "secret"      certified   the same with a client certificate
#   owner      no password; makes tables                reader      password "reader-secret"; may only look
#   stranger   no password, no rights                   root        no password; everything

# shellcheck source=tests/support/servers.bash
. "${BASH_SOURCE[0]%/*}/servers.bash"

# Where the server has its messages and its system tables, and what it puts before the names of these.
mysql_usr=$root_of_servers/usr
if [ -d "$mysql_usr/share/mariadb" ]; then mysql_share=$mysql_usr/share/mariadb mysql_tables=mariadb; else mysql_share=$mysql_usr/share/mysql mysql_tables=mysql; fi

# What a killed server has written is still there when it starts again, synchronised or not: only the machine's own end
# would lose it. So nobody waits for the disk, which the tests share with compilers.
mysql_words=(--no-defaults --basedir="$mysql_usr" --lc-messages-dir="$mysql_share" --innodb-log-file-size=4M
  --innodb-buffer-pool-size=8M --innodb-data-file-path=ibdata1:4M:autoextend --innodb-autoextend-increment=1
  --innodb-temp-data-file-path=ibtmp1:1M:autoextend --innodb-use-native-aio=OFF --aria-log-file-size=8M --loose-skip-log-bin
  --innodb-flush-method=nosync)

# What every server begins with is made once: by scripts/start-test-servers, or else by the file that asks first.
mysql_beginning() {
  local at=${DLOCK_TEST_SERVERS:-${BATS_FILE_TMPDIR:-$servers}}/mysql-beginning
  if [ ! -d "$at" ]; then
    rm -rf -- "$at.part"
    mkdir -p "$at.part" "$at.tmp" # a server removes the temporary tables of others that share its folder for them
    mysql_bootstrap | (exec_server mariadbd mariadbd "${mysql_words[@]}" --user="$(id -un)" --bootstrap --datadir="$at.part" \
      --tmpdir="$at.tmp" --debug-no-sync 2>"$at.log") || { tail -n 5 "$at.log" >&2; return 1; }
    mv -T "$at.part" "$at"
  fi
  echo "$at"
}

mysql_bootstrap() {
  local system=$mysql_share/$mysql_tables user
  printf '%s;\n' 'CREATE DATABASE mysql' 'USE mysql' 'SET @auth_root_socket = NULL'
  cat "${system}_system_tables.sql" "${system}_performance_tables.sql" "${system}_system_tables_data.sql"
  printf '%s;\n' 'FLUSH PRIVILEGES' 'CREATE DATABASE locks' 'CREATE DATABASE shop' 'CREATE USER app, owner, stranger' 'CREATE USER certified REQUIRE X509' \
    "CREATE USER guarded IDENTIFIED BY 'secret', reader IDENTIFIED BY 'reader-secret'"
  for user in app guarded certified; do
    printf '%s;\n' "GRANT SELECT, INSERT, UPDATE, DELETE ON locks.* TO $user" "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO $user"
  done
  printf '%s;\n' 'GRANT ALL ON locks.* TO owner' 'GRANT ALL ON shop.* TO owner' 'GRANT SELECT ON locks.* TO reader'
}

# start_mysql NAME [OPTION...]: a new server. Returns when it takes connections; mysql_url NAME says where.
start_mysql() {
  local name=$1 beginning _
  shift
  beginning=$(mysql_beginning) || return
  mkdir -p "$servers/$name/tmp"
  cp -rT -- "$beginning" "$servers/$name/data"
  for _ in {1..20}; do
    local port folder=$servers/$name
    port=$(some_port)
    echo "$port" >"$folder/port"
    printf '%s\0' "${mysql_words[@]}" --user="$(id -un)" --datadir="$folder/data" --tmpdir="$folder/tmp" --socket="$folder/socket" \
      --pid-file="$folder/mariadbd.pid" --bind-address=127.0.0.1 --port="$port" --skip-name-resolve \
      --performance-schema=OFF --aria-pagecache-buffer-size=1M --key-buffer-size=1M --innodb-buffer-pool-dump-at-shutdown=OFF \
      --innodb-buffer-pool-load-at-startup=OFF --max-connections=400 "$@" >"$folder/options"
    ! launch_mysql "$name" || return 0
    grep -qF 'Address already in use' "$folder/log" || break
  done
  echo "mariadbd $name does not start:" >&2
  tail -n 5 "$servers/$name/log" >&2
  return 1
}

# The same with dlock's tables, for tests of the program: it is the store from now on.
start_mysql_with_tables() { # NAME
  start_mysql "$1"
  # shellcheck disable=SC2154 # of cli.bash
  env -u DLOCK_BACKEND "$DLOCK" setup -b "$(mysql_url "$1" owner)" >/dev/null
  use "$(mysql_url "$1")"
}

# Two nodes of one Galera cluster, n1 and n2. Both begin with the same data, so the second needs no copy of the first: it
# is told that it has the first one's state.
start_galera() {
  local at state words=(--binlog-format=ROW --innodb-autoinc-lock-mode=2 --wsrep-on=ON --wsrep-cluster-name=dlock
    --wsrep-provider=/usr/lib/galera/libgalera_smm.so --wsrep-node-address=127.0.0.1 --wsrep-sst-method=skip)
  at=$(some_port)
  start_mysql n1 "${words[@]}" --wsrep-cluster-address=gcomm:// --wsrep-provider-options="$(galera_options "$at")"
  wait_until sql_says n1 "SHOW STATUS LIKE 'wsrep_local_state_comment'" $'wsrep_local_state_comment\tSynced'
  state=$(sql n1 "SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_state_uuid', 'wsrep_last_committed')")
  mkdir -p "$servers/n2/data"
  printf 'version: 2.1\nuuid: %s\nseqno: %s\nsafe_to_bootstrap: 0\n' \
    "$(awk '/uuid/ { print $2 }' <<<"$state")" "$(awk '/last/ { print $2 }' <<<"$state")" >"$servers/n2/data/grastate.dat"
  start_mysql n2 "${words[@]}" --wsrep-cluster-address="gcomm://127.0.0.1:$at" --wsrep-provider-options="$(galera_options "$(some_port)")"
  wait_until sql_says n2 "SHOW STATUS LIKE 'wsrep_cluster_size'" $'wsrep_cluster_size\t2'
}
galera_options() { # PORT
  echo "base_host=127.0.0.1;base_port=$1;gmcast.listen_addr=tcp://127.0.0.1:$1;ist.recv_addr=127.0.0.1:$(some_port);gcache.size=4M"
}

# Starts again what was killed: same port, same options, same data.
restart_mysql() { launch_mysql "$1"; }

launch_mysql() { launch_in_its_data "$1" 'ready for connections' exec_server mariadbd mariadbd; }

# Returns when its log says so. Its options are in its folder.
launch_in_its_data() { # NAME PATTERN COMMAND...
  local folder=$servers/$1 options pid
  mapfile -d '' options <"$folder/options"
  : >"$folder/log"
  (
    cd "$folder/data" || exit
    "${@:3}" "${options[@]}" 3>&- </dev/null >>"$folder/log" 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  echo "$pid" >"$folder/pid"
  wait_for_log "$pid" "$folder/log" "$2"
}

mysql_url() { echo "mysql://${2:-app}@127.0.0.1:$(port_of "$1")/locks"; } # NAME [USER]

# Since 11.4 it says each time that it does not look at the certificate of a server where it has no password.
sql_words=(--no-defaults --skip-column-names --batch --protocol=tcp --host=127.0.0.1 --skip-ssl-verify-server-cert)

# mariadb's client as a user (root unless said otherwise): sql [USER@]NAME STATEMENTS prints rows, columns apart by tabs.
sql() {
  local user=root name=$1
  [[ $name != *@* ]] || { user=${name%@*} name=${name#*@}; }
  mariadb "${sql_words[@]}" --port="$(port_of "$name")" --user="$user" --execute="$2"
}
sql_says() { [ "$(sql "$1" "$2" 2>/dev/null)" = "$3" ]; } # [USER@]NAME STATEMENT ANSWER

# A session that stays open: open_session ID [USER@]NAME; then say_in ID STATEMENT, whose rows, and then the line "done",
# come to the file ID.out; close_session ID.
open_session() {
  local user=root name=$2
  [[ $name != *@* ]] || { user=${name%@*} name=${name#*@}; }
  mkfifo "$1.in"
  : >"$1.out"
  # Without the descriptors of the other sessions, which would keep those from ending.
  "$programs/unshielded" mariadb "${sql_words[@]}" --unbuffered --force \
    --port="$(port_of "$name")" --user="$user" <"$1.in" >>"$1.out" 2>&1 3>&- &
  started+=("$!")
  disown "$!"
  echo "$!" >"$1.pid"
  exec {session_in}>"$1.in"
  eval "session_$1=$session_in"
}
send_in() { # ID STATEMENT: does not wait for its end
  local -n fd=session_$1
  : >"$1.out"
  printf "%s;\nSELECT 'done';\n" "$2" >&"$fd"
}
said_in() { grep -qx 'done' "$1.out"; }
say_in() { send_in "$@" && wait_until said_in "$1" && sed '/^done$/d' "$1.out"; }
close_session() {
  local -n fd=session_$1
  exec {fd}>&-
  wait_until ended "$(cat "$1.pid")"
}

kill_connections() { # NAME: those of "app"
  sql "$1" "SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist WHERE user = 'app'" >kills
  sql "$1" "$(cat kills)" 2>/dev/null || true # one may have ended by itself
}

# For a setup: the server of scripts/start-test-servers, and a key for this test.
use_shared_mysql() {
  need_servers
  servers=$DLOCK_TEST_SERVERS
  key=app:$BATS_TEST_NUMBER
  use "$DLOCK_TEST_MYSQL"
}

# The server NAME as the store of tests that kill it and start it again; $protocol is how failing_network reads it.
begin_with_mysql() { protocol=mysql && start_mysql_with_tables "$1"; } # NAME
