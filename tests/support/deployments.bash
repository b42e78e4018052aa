# SPDX-License-Identifier: Apache-2.0
# Several servers of redis.bash that belong together: a primary with replicas, Sentinel, a cluster. What starts them sets
# $url.

address() { echo "127.0.0.1:$(port_of "$1")"; }

# --- replicas and Sentinel -------------------------------------------------------------------------------------------

# start_replica NAME PRIMARY: returns when it has all that the primary has.
start_replica() {
  start_redis "$1" --repl-diskless-sync-delay 0 --replicaof 127.0.0.1 "$(port_of "$2")"
  wait_until redis_line "$1" master_link_status:up info replication
}

names_master() { [ "$(redis_cli "$1" sentinel get-master-addr-by-name main | tail -n 1)" = "$(port_of "$2")" ]; }
knows_all() { # SENTINEL: two others and a replica that is linked
  redis_cli "$1" sentinel master main | paste - - | grep -qx 'num-other-sentinels	2' &&
    redis_cli "$1" sentinel replicas main | paste - - | grep -qx 'master-link-status	ok'
}

start_sentinels() { # a master "one", its replica "two", three sentinels
  start_redis one --repl-diskless-sync-delay 0
  start_redis two --repl-diskless-sync-delay 0 --replicaof 127.0.0.1 "$(port_of one)"
  for sentinel in s1 s2 s3; do start_sentinel "$sentinel" one; done
  for sentinel in s1 s2 s3; do wait_until knows_all "$sentinel"; done
  url=redis+sentinel://$(address s1),$(address s2),$(address s3)/main
}

# --- Cluster ---------------------------------------------------------------------------------------------------------

bus_of() { tr '\0' '\n' <"$servers/$1/options" | grep -A 1 -x -- --cluster-port | tail -n 1; }
id_of() { redis_cli "$1" cluster myid; }
is_writable() { redis_cli "$1" cluster info | tr -d '\r' | grep -qx cluster_state:ok; }
knows_nodes() { [ "$(redis_cli "$1" cluster nodes | grep -c connected)" = "$2" ]; }

start_cluster() { # masters a, b, c
  for node in a b c "$@"; do
    start_redis "$node" --cluster-enabled yes --cluster-port BUS --cluster-node-timeout 1000 --repl-diskless-sync-delay 0
  done
  redis_cli a cluster addslotsrange 0 5460
  redis_cli b cluster addslotsrange 5461 10922
  redis_cli c cluster addslotsrange 10923 16383
  local epoch=0
  for node in a b c "$@"; do redis_cli "$node" cluster set-config-epoch $((++epoch)); done
  for node in b c "$@"; do redis_cli a cluster meet 127.0.0.1 "$(port_of "$node")" "$(bus_of "$node")"; done
  for node in a b c "$@"; do wait_until knows_nodes "$node" $((3 + $#)); done
  for node in a b c; do wait_until is_writable "$node"; done
  url=redis+cluster://$(address a)
}
