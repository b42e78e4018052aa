# SPDX-License-Identifier: Apache-2.0
# The rows of scripts/bench for stocks: on this machine, and on a Redis, a MariaDB, a PostgreSQL and a ZooKeeper of their
# own; and the picture of the README. Sourced: row, quotient, own, stage and redis.bash's functions are those of
# scripts/bench.
# shellcheck disable=SC2154

stock_rows() {
  local ours
  seq -f 'take order-%.0f' 100000 >"$stage/orders"
  stock_rows_of local "local:$stage/stock?sync=normal"
  ours=$(batch_rate "local:$stage/stock")
  row 'local: stock batch, takes/s, durable' '>= 20000' "$ours" '' "$ours"
  start_redis stock
  own+=("$(pid_of_redis stock)")
  stock_rows_of redis "$(redis_url stock)"
  stock_bare_script
  ours=$(batch_rate "$(redis_url stock)")
  row 'redis: stock batch, takes/s' '>= 30000' "$ours" '' "$ours"
  kill_redis stock
  start_mysql stock --innodb-buffer-pool-size=128M --innodb-log-file-size=128M --innodb-flush-method=fsync
  own+=("$(pid_of_server stock)")
  dlock setup -b "$(mysql_url stock owner)" >/dev/null
  stock_rows_of mysql "$(mysql_url stock)" 0.65
  stock_bare_statement
  ours=$(batch_rate "$(mysql_url stock)")
  row 'mysql: stock batch, takes/s' '>= 8000' "$ours" '' "$ours"
  kill_server stock
  start_postgres stockpg shared_buffers=128MB
  own+=("$(pid_of_server stockpg)")
  dlock setup -b "$(postgres_url stockpg owner)" >/dev/null
  stock_rows_of postgres "$(postgres_url stockpg)" 0.65
  ours=$(batch_rate "$(postgres_url stockpg)")
  row 'postgres: stock batch, takes/s' '>= 8000' "$ours" '' "$ours"
  kill_server stockpg
  start_zookeeper stockzk forceSync=yes
  own+=("$(pid_of_server stockzk)")
  stock_zookeeper_rows
  kill_server stockzk
  scripts/stock-chart <"$stage/stock.json" >build/stock.svg
  echo "picture: build/stock.svg" >&2
}

# figure WAY SEGMENTS: orders a second, in the last run
figure() {
  tail -n 1 "$stage/stock.json" | jq --arg way "$1" --argjson segments "$2" \
    '.rows[] | select(.way == $way and .segments == $segments).orders_per_second'
}

stock_rows_of() { # NAME URL [GOAL of reserve]
  dlock bench stock --json -b "$2" >>"$stage/stock.json"
  local one twenty reserve
  one=$(figure lock 1) twenty=$(figure lock 20) reserve=$(figure reserve 20)
  row "$1: orders/s, step of 20 ms, lock, 20 segments" '>= 16' "$twenty" "one segment: $one" "$(quotient "$twenty" "$one")"
  row "$1: orders/s, step of 20 ms, reserve" ">= ${3:-0.8}" "$reserve" '40 takers / 20 ms: 2000' "$(quotient "$reserve" 2000)"
}

# Each order is two transactions on the server's disk.
stock_zookeeper_rows() {
  local ours
  dlock bench stock --json -b "$(zookeeper_url stockzk)" >>"$stage/stock.json"
  row 'zookeeper: orders/s, step of 20 ms, lock' '>= 300' "$(figure lock 20)" '' "$(figure lock 20)"
  row 'zookeeper: orders/s, step of 20 ms, reserve' '>= 900' "$(figure reserve 20)" '' "$(figure reserve 20)"
  ours=$(batch_rate "$(zookeeper_url stockzk)")
  row 'zookeeper: stock batch, takes/s' '>= 2000' "$ours" '' "$ours"
}

# What one would write by hand: look at the order, look, deduct, remember the order for 30 days.
take_by_hand="if redis.call('EXISTS',KEYS[2])==1 then return 0 end if tonumber(redis.call('GET',KEYS[1]))<1 then return -1 end
  redis.call('SET',KEYS[2],1,'PX',2592000000) return redis.call('DECRBY',KEYS[1],1)"

# script_rate SCRIPT: how often a second 8 processes have it run, each of which asks one thing at a time
script_rate() {
  local sha
  sha=$(redis_cli stock script load "$1")
  redis_cli stock set bare 100000000 >/dev/null
  "$programs/moments" rate "$(port_of stock)" 8 EVALSHA "$sha" 2 bare '#'
}

# Plain takes: as many clients on both sides.
stock_bare_script() {
  local bare ours
  bare=$(script_rate "$take_by_hand")
  ours=$(figure take 20)
  row 'redis: plain takes/s' '>= 0.5' "$ours" "bare script: $bare" "$(quotient "$ours" "$bare")"
}

# batch_rate URL: takes a second through one pipe, in 20 segments.
batch_rate() {
  local began
  dlock stock create batch --quantity 1000000 --segments 20 -b "$1"
  began=${EPOCHREALTIME/./}
  [ "$(dlock stock batch batch -b "$1" <"$stage/orders" | grep -c ' ok ')" = 100000 ] || return
  echo $((100000 * 1000000 / (${EPOCHREALTIME/./} - began)))
  dlock stock drop batch --yes -b "$1"
}

# Plain takes against the guarded UPDATE alone, which cannot be repeated when its answer was lost.
stock_bare_statement() {
  local bare ours
  dlock stock create bare --quantity 100000000 --segments 20 -b "$(mysql_url stock)"
  bare=$("$programs/mysql_named_lock" "$(port_of stock)" rate 8 "UPDATE dlock_data SET a=a-1
    WHERE space='stock' AND name='bare' AND id=CONCAT('segment/',MOD(CONNECTION_ID(),20)) AND a>=1")
  ours=$(figure take 20)
  row 'mysql: plain takes/s' '>= 0.5' "$ours" "guarded UPDATE: $bare" "$(quotient "$ours" "$bare")"
}
