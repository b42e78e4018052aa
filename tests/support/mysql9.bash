# SPDX-License-Identifier: Apache-2.0
# MySQL 9 servers of one's own, from the root of a Debian that has them (DLOCK_TEST_MYSQL9: made by debootstrap with
# mysql-server-core and mysql-router). Loaded after mysql.bash, whose names it uses: port_of, sql, open_session.
#
# A new server has the empty databases "locks" and "shop", TLS with certificates of ca.crt here for 127.0.0.1, and these
# users: app, with the rights that dlock-mysql(7) names; owner, who makes tables; nobody else's but root's are more.

mysql9_root=${DLOCK_TEST_MYSQL9-}
need_mysql9() { [ "$mysql9_root" ] || skip "no MySQL 9: DLOCK_TEST_MYSQL9, the root of a Debian with mysql-server-core"; }

in_mysql9() { # PROGRAM WORD...
  root_of_servers=$mysql9_root exec_server "$1" "$@"
}

mysql9_words() { # NAME
  printf '%s\n' --no-defaults --basedir="$mysql9_root/usr" --plugin-dir="$mysql9_root/usr/lib/mysql/plugin" \
    --lc-messages-dir="$mysql9_root/usr/share/mysql" --character-sets-dir="$mysql9_root/usr/share/mysql/charsets" \
    --user="$(id -un)" --datadir="$servers/$1/data" --innodb-buffer-pool-size=16M --innodb-flush-method=nosync \
    --innodb-redo-log-capacity=16M --skip-mysqlx --secure-file-priv=NULL
}

mysql9_users() {
  local user
  printf '%s;\n' 'SET SQL_LOG_BIN = 0' 'CREATE DATABASE locks' 'CREATE DATABASE shop' 'CREATE USER app, owner' "CREATE USER root@'%'" \
    "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION" 'GRANT ALL ON locks.* TO owner' 'GRANT ALL ON shop.* TO owner' \
    'GRANT SELECT, INSERT, UPDATE, DELETE ON locks.* TO app' 'GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO app'
}

# Certificates for all servers of a file, by one authority.
mysql9_certificates() {
  local at=$servers/certificates
  [ ! -d "$at" ] || return 0
  mkdir -p "$at"
  (
    cd "$at" || exit
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=tests -keyout ca.key -out ca.crt
    openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout server.key -out server.csr
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out server.crt \
      -extfile <(echo 'subjectAltName=IP:127.0.0.1,DNS:localhost')
  ) 2>/dev/null
}

# start_mysql9 NAME [OPTION...]
start_mysql9() {
  local name=$1 words folder=$servers/$1 at=${BATS_FILE_TMPDIR:-$servers}/mysql9-beginning
  shift
  mkdir -p "$folder/tmp"
  mysql9_certificates
  mapfile -t words < <(mysql9_words "$name")
  if [ ! -d "$at" ]; then
    mysql9_users >"$folder/users.sql"
    (in_mysql9 mysqld "${words[@]}" --initialize-insecure --init-file="$folder/users.sql" >"$folder/log" 2>&1) ||
      { tail -n 5 "$folder/log" >&2; return 1; }
    rm -f "$folder/data/auto.cnf"
    cp -rT "$folder/data" "$at"
  else
    cp -rT "$at" "$folder/data"
  fi
  for _ in {1..5}; do
    some_port >"$folder/port"
    printf '%s\0' "${words[@]}" --port="$(port_of "$name")" --bind-address=127.0.0.1 --socket="$folder/socket" --tmpdir="$folder/tmp" \
      --pid-file="$folder/mysqld.pid" --ssl-ca="$servers/certificates/ca.crt" --ssl-cert="$servers/certificates/server.crt" \
      --ssl-key="$servers/certificates/server.key" "$@" >"$folder/options"
    ! launch_mysql9 "$name" || return 0
    grep -qF 'Address already in use' "$folder/log" || break
  done
  tail -n 5 "$folder/log" >&2
  return 1
}

launch_mysql9() { launch_in_its_data "$1" 'ready for connections.*port: [1-9]' in_mysql9 mysqld; } # NAME

mysql9_url() { echo "mysql://${2:-app}@127.0.0.1:$(port_of "$1")/locks?ca-file=$servers/certificates/ca.crt"; } # NAME [USER]

# --- several primaries -----------------------------------------------------------------------------------------------

# start_mysql9_group NAME...: each of them takes changes.
start_mysql9_group() {
  local name seeds='' ports=() i=0
  mapfile -t ports < <(some_ports $#)
  seeds=$(printf ',127.0.0.1:%s' "${ports[@]}")
  for name; do
    start_mysql9 "$name" --server-id=$((i + 1)) --gtid-mode=ON --enforce-gtid-consistency=ON --log-bin=binlog --report-host=127.0.0.1 \
      --plugin-load-add=group_replication.so --group-replication-group-name=3e11fa47-71ca-11e1-9e33-c80aa9429562 \
      --group-replication-start-on-boot=OFF --group-replication-local-address="127.0.0.1:${ports[i]}" \
      --group-replication-group-seeds="${seeds#,}" --group-replication-single-primary-mode=OFF \
      --group-replication-enforce-update-everywhere-checks=ON --group-replication-ip-allowlist=127.0.0.1 \
      --group-replication-recovery-get-public-key=ON
    sql "$name" "RESET BINARY LOGS AND GTIDS; CHANGE REPLICATION SOURCE TO SOURCE_USER='root' FOR CHANNEL 'group_replication_recovery'"
    [ $i != 0 ] || sql "$name" 'SET GLOBAL group_replication_bootstrap_group=ON'
    sql "$name" 'START GROUP_REPLICATION; SET GLOBAL group_replication_bootstrap_group=OFF'
    wait_until sql_says "$name" 'SELECT MEMBER_STATE FROM performance_schema.replication_group_members WHERE MEMBER_ID=@@server_uuid' ONLINE
    i=$((i + 1))
  done
}

# start_router NAME SERVER: a router whose connections to that server are shared by its clients; port_of NAME.
start_router() {
  local folder=$servers/$1 pid
  mkdir -p "$folder/data" "$folder/run"
  some_port >"$folder/port"
  printf '%s\n' '[DEFAULT]' "logging_folder=$folder" "runtime_folder=$folder/run" "data_folder=$folder/data" \
    "plugin_folder=$mysql9_root/usr/lib/mysqlrouter/plugin" '[logger]' 'level=INFO' '[connection_pool]' \
    'max_idle_server_connections=8' '[routing:shared]' 'bind_address=127.0.0.1' "bind_port=$(port_of "$1")" \
    "destinations=127.0.0.1:$(port_of "$2")" 'routing_strategy=first-available' 'protocol=classic' 'connection_sharing=1' \
    'connection_sharing_delay=0' 'client_ssl_mode=PREFERRED' 'server_ssl_mode=PREFERRED' \
    "client_ssl_cert=$servers/certificates/server.crt" "client_ssl_key=$servers/certificates/server.key" >"$folder/router.conf"
  (
    cd "$folder/data" || exit
    # It looks for its plugins from where its name says that it lies.
    root_of_servers=$mysql9_root exec_server "$mysql9_root/usr/bin/mysqlrouter" mysqlrouter -c "$folder/router.conf" 3>&- </dev/null >"$folder/log" 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  echo "$pid" >"$folder/pid"
  wait_until sql_says "$1" 'SELECT 1' 1
}
