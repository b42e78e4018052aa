# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # servers and certificates are scripts/start-test-servers'
# The servers of tests: Redis in every form.
#  DLOCK_TEST_REDIS       one server                   DLOCK_TEST_REDIS_UNIX  the same by its socket
#  DLOCK_TEST_REDIS_TLS   TLS only, wants no client certificate; certificates: DLOCK_TEST_CERTIFICATES/NAME.crt and .key
#                         of ca, server, client, other-ca (has signed other-client), expired (of the CA, for 127.0.0.1)
#  DLOCK_TEST_REDIS_MTLS  wants a client certificate   DLOCK_TEST_REDIS_EXPIRED  shows the expired certificate
#  DLOCK_TEST_REDIS_AUTH  password "secret"; user "app" (password "app-secret") may lock keys app:*; user "reader" may GET
#  DLOCK_TEST_REDLOCK     five servers                 DLOCK_TEST_CLUSTER     three masters
#  DLOCK_TEST_TAIR        tests/support/fake_tair.py
#  DLOCK_TEST_SENTINEL    master, replica, three sentinels that call it "main"
#  DLOCK_TEST_REDIS_REPLICA  that replica, which takes no changes
need_programs redis-check-rdb redis-cli
# shellcheck source=tests/support/redis.bash
. tests/support/redis.bash

tls_server() { # NAME CERTIFICATE WANTS-CLIENTS
  start_redis "$1" --appendonly yes --port 0 --tls-port PORT --tls-cert-file "$certificates/$2.crt" --tls-key-file "$certificates/$2.key" \
    --tls-ca-cert-file "$certificates/ca.crt" --tls-auth-clients "$3"
}

start_auth() {
  start_redis auth --requirepass secret
  REDISCLI_AUTH=secret redis_cli auth acl setuser app on '>app-secret' '~app:*' '~dlock:{app:*' '&*' +@all -@admin -@dangerous >/dev/null
  REDISCLI_AUTH=secret redis_cli auth acl setuser reader on '>reader-secret' '~*' +get +ping +hello +auth >/dev/null
}

start_cluster() {
  local i first=0 last
  for i in 1 2 3; do
    start_redis "cluster$i" --appendonly yes --cluster-enabled yes --cluster-config-file nodes.conf --cluster-port BUS --cluster-node-timeout 1000
    last=$((i * 16384 / 3 - 1))
    redis_cli "cluster$i" cluster addslotsrange "$first" "$last" >/dev/null
    redis_cli "cluster$i" cluster set-config-epoch "$i" >/dev/null
    first=$((last + 1))
  done
  for i in 2 3; do
    redis_cli cluster1 cluster meet 127.0.0.1 "$(port_of "cluster$i")" "$(redis_cli "cluster$i" config get cluster-port | tail -n 1)" >/dev/null
  done
}

start_sentinels() {
  start_redis main --appendonly yes --repl-diskless-sync-delay 0
  start_redis replica --appendonly yes --replicaof 127.0.0.1 "$(port_of main)"
  local i
  for i in 1 2 3; do start_sentinel "sentinel$i" main 60000; done # they replace nobody while tests run
}

cluster_is_ready() {
  local i
  for i in 1 2 3; do redis_line "cluster$i" cluster_state:ok cluster info || return; done
}
sentinels_are_ready() {
  local i
  redis_line main connected_slaves:1 info replication || return
  for i in 1 2 3; do
    redis_cli "sentinel$i" sentinel master main | paste - - | grep -qP '^num-other-sentinels\t2$' || return
    redis_cli "sentinel$i" sentinel master main | paste - - | grep -qP '^num-slaves\t1$' || return
  done
}

start_redis_servers() {
  local i
  start_cluster
  start_sentinels
  start_redis one --appendonly yes --unixsocket "$servers/one.sock" --unixsocketperm 700
  tls_server tls server no
  tls_server mtls server yes
  tls_server expired expired no
  start_auth
  for i in 1 2 3 4 5; do start_redis "vote$i" --appendonly yes; done # a young server without its data has no vote yet
  start_tair tair
  wait_until cluster_is_ready
  wait_until sentinels_are_ready
}

list() { # NAME COUNT: 127.0.0.1:PORT,...
  local i text=
  for ((i = 1; i <= $2; i++)); do text+=,127.0.0.1:$(port_of "$1$i"); done
  echo "${text#,}"
}

tls_url() { echo "rediss://127.0.0.1:$(port_of "$1")?ca-file=$certificates/ca.crt"; }

env_of_redis_servers() {
  cat <<END
export DLOCK_TEST_REDIS='$(redis_url one)'
export DLOCK_TEST_REDIS_UNIX='redis+unix://$servers/one.sock'
export DLOCK_TEST_REDIS_TLS='$(tls_url tls)'
export DLOCK_TEST_REDIS_MTLS='$(tls_url mtls)&cert-file=$certificates/client.crt&key-file=$certificates/client.key'
export DLOCK_TEST_REDIS_EXPIRED='$(tls_url expired)'
export DLOCK_TEST_REDIS_AUTH='$(redis_url auth)'
export DLOCK_TEST_REDLOCK='redlock://$(list vote 5)'
export DLOCK_TEST_TAIR='tair://127.0.0.1:$(port_of tair)'
export DLOCK_TEST_CLUSTER='redis+cluster://$(list cluster 3)'
export DLOCK_TEST_REDIS_REPLICA='$(redis_url replica)'
export DLOCK_TEST_SENTINEL='redis+sentinel://$(list sentinel 3)/main'
END
}
