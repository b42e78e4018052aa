# SPDX-License-Identifier: Apache-2.0
# The rows of scripts/bench for stocks: on this machine, and on a Redis, a MariaDB and a ZooKeeper of their own; and the
# picture of the README. Sourced: row, quotient, own, stage and redis.bash's functions are those of scripts/bench.
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
  stock_batch_script
  stock_rows_of 'redis, decr' "$(redis_url stock)?stock=decr"
  kill_redis stock
  stock_cluster
  start_mysql stock --innodb-buffer-pool-size=128M --innodb-log-file-size=128M --innodb-flush-method=fsync
  own+=("$(pid_of_server stock)")
  dlock setup -b "$(mysql_url stock owner)" >/dev/null
  stock_rows_of mysql "$(mysql_url stock)"
  row 'mysql: orders/s, step of 20 ms, lock, 20 segments' '>= 900' "$(figure lock 20)" '' "$(figure lock 20)"
  stock_bare_statement
  stock_batch_statements
  kill_server stock
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

stock_rows_of() { # NAME URL
  dlock bench stock --json -b "$2" >>"$stage/stock.json"
  local one twenty reserve
  one=$(figure lock 1) twenty=$(figure lock 20) reserve=$(figure reserve 20)
  row "$1: orders/s, step of 20 ms, lock, 20 segments" '>= 15' "$twenty" "one segment: $one" "$(quotient "$twenty" "$one")"
  row "$1: orders/s, step of 20 ms, reserve" '>= 0.8' "$reserve" '40 takers / 20 ms: 2000' "$(quotient "$reserve" 2000)"
}

# Each order is two transactions on the server's disk, so races for a segment are what more of them save.
stock_zookeeper_rows() {
  dlock bench stock --json -b "$(zookeeper_url stockzk)" >>"$stage/stock.json"
  local way one twenty
  for way in take reserve; do
    one=$(figure "$way" 1) twenty=$(figure "$way" 20)
    row "zookeeper: orders/s, $way, 20 segments" '>= 2' "$twenty" "one segment: $one" "$(quotient "$twenty" "$one")"
  done
  row 'zookeeper: orders/s, step of 20 ms, lock' '>= 300' "$(figure lock 20)" '' "$(figure lock 20)"
  row 'zookeeper: orders/s, step of 20 ms, reserve' '>= 1200' "$(figure reserve 20)" '' "$(figure reserve 20)"
  stock_kept "$(zookeeper_url stockzk)"
}

# One take after the other, when few requests are kept and when 100 000 are; in between these, through one pipe.
stock_kept() { # URL
  local few many rate
  dlock stock create kept --quantity 1000000 --segments 20 -b "$1"
  piped_takes kept 2000 warm "$1" --window 1 >/dev/null # the server's code becomes fast
  few=$(piped_takes kept 2000 few "$1" --window 1)
  rate=$(piped_takes kept 100000 order "$1")
  many=$(piped_takes kept 2000 many "$1" --window 1)
  row 'zookeeper: stock batch, takes/s' '>= 2000' "$rate" '' "$rate"
  row 'zookeeper: takes/s, 100 000 requests kept' '>= 0.8' "$many" "few kept: $few" "$(quotient "$many" "$few")"
}

# piped_takes STOCK COUNT PREFIX URL OPTION...: takes a second, of requests that begin so
piped_takes() {
  local began=${EPOCHREALTIME/./}
  [ "$(seq -f "take $3-%.0f" "$2" | dlock stock batch "$1" -b "$4" "${@:5}" | grep -c ' ok ')" = "$2" ] || return
  echo $(($2 * 1000000 / (${EPOCHREALTIME/./} - began)))
}

# What one would write by hand: look at the order, look, deduct, remember the order for 30 days. The look and the
# deduction alone, which cannot be repeated when an answer was lost, are shown beside it.
look_by_hand="if tonumber(redis.call('GET',KEYS[1]))<1 then return -1 end"
deduct_alone="$look_by_hand return redis.call('DECRBY',KEYS[1],1)"
take_by_hand="if redis.call('EXISTS',KEYS[2])==1 then return 0 end $look_by_hand
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
  local bare alone ours
  bare=$(script_rate "$take_by_hand")
  alone=$(script_rate "$deduct_alone")
  ours=$(figure take 20)
  row 'redis: plain takes/s' '>= 0.8' "$ours" "bare script: $bare (without an order: $alone)" "$(quotient "$ours" "$bare")"
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

# piped SCRIPT: how often a second redis-cli has it run through one pipe, with a counter and the key of an order.
piped() {
  local sha began
  sha=$(redis_cli stock script load "$1")
  sed "s/^take \(.*\)/EVALSHA $sha 2 bare \1/" "$stage/orders" >"$stage/piped"
  redis_cli stock set bare 100000000 >/dev/null
  began=${EPOCHREALTIME/./}
  redis_cli stock --pipe <"$stage/piped" >/dev/null
  echo $((100000 * 1000000 / (${EPOCHREALTIME/./} - began)))
}

# Through one pipe on both sides.
stock_batch_script() {
  local bare by_hand ours
  bare=$(piped "$deduct_alone")
  by_hand=$(piped "$take_by_hand")
  ours=$(batch_rate "$(redis_url stock)")
  row 'redis: stock batch, takes/s' '>= 0.8' "$ours" "bare script: $by_hand (without an order: $bare)" "$(quotient "$ours" "$by_hand")"
  row 'redis: stock batch, takes/s' '>= 40000' "$ours" '' "$ours"
}

# Plain takes against what one would write by hand: the order's row and the guarded UPDATE in one transaction. The UPDATE
# alone, which cannot be repeated when its answer was lost, is shown beside it.
stock_bare_statement() {
  local port bare alone ours key
  local update='UPDATE dlock_stock_segment SET quantity=quantity-1 WHERE stock=KEY AND segment>=MOD(CONNECTION_ID(),20)
    AND quantity>=1 ORDER BY segment LIMIT 1'
  port=$(port_of stock)
  dlock stock create bare --quantity 100000000 --segments 20 -b "$(mysql_url stock)"
  key=$(sql stock "SELECT id FROM locks.dlock_stock WHERE name = 'bare'")
  update=${update/KEY/"$key"}
  bare=$("$programs/mysql_named_lock" "$port" rate 8 'START TRANSACTION' \
    "INSERT INTO dlock_stock_request VALUES ($key, '#', 'T 1 0:1 - 0')" "$update" COMMIT)
  alone=$("$programs/mysql_named_lock" "$port" rate 8 "$update")
  ours=$(figure take 20)
  row 'mysql: plain takes/s' '>= 0.8' "$ours" "bare SQL: $bare (without a request: $alone)" "$(quotient "$ours" "$bare")"
}

# How many orders a second mariadb's client brings through one pipe, so many in one transaction.
piped_statements() { # ORDERS EACH
  local began key
  key=$(sql stock "SELECT id FROM locks.dlock_stock WHERE name = 'bare'")
  head -n "$1" "$stage/orders" | awk -v key="$key" -v each="$2" -v run="$2-$RANDOM" '
    NR % each == 1 || each == 1 { print "START TRANSACTION;" }
    { printf "INSERT INTO dlock_stock_request VALUES (%d, \"%s-%s\", \"T 1 %d:1 - 0\");\n", key, run, $2, NR % 20
      printf "UPDATE dlock_stock_segment SET quantity=quantity-1 WHERE stock=%d AND segment=%d AND quantity>=1;\n", key, NR % 20 }
    NR % each == 0 { print "COMMIT;" }
    END { print "COMMIT;" }' >"$stage/statements"
  began=${EPOCHREALTIME/./}
  mariadb "${sql_words[@]}" --port="$(port_of stock)" --user=app locks <"$stage/statements"
  echo $(($1 * 1000000 / (${EPOCHREALTIME/./} - began)))
}

# Through one pipe on both sides, against what one would write by hand: the order's row and the guarded UPDATE, as many
# orders in one transaction as a block of ours has. Each in a transaction of its own is shown beside it.
stock_batch_statements() {
  local by_hand alone ours
  by_hand=$(piped_statements 30000 256)
  alone=$(piped_statements 2000 1)
  ours=$(batch_rate "$(mysql_url stock)")
  row 'mysql: stock batch, takes/s' '>= 0.8' "$ours" "bare SQL: $by_hand (one by one: $alone)" "$(quotient "$ours" "$by_hand")"
  row 'mysql: stock batch, takes/s' '>= 5000' "$ours" '' "$ours"
}

# What it costs that a stock lies in several slots, on three masters of this machine: they share its cores, so it is the
# price that is seen, not the gain.
stock_cluster() {
  local node first=0 last one_slot i=0
  for node in stock1 stock2 stock3; do
    i=$((i + 1)) last=$((i * 16384 / 3 - 1))
    start_redis "$node" --cluster-enabled yes --cluster-port BUS
    own+=("$(pid_of_redis "$node")")
    redis_cli "$node" cluster addslotsrange "$first" "$last" >/dev/null
    redis_cli "$node" cluster set-config-epoch "$i" >/dev/null
    first=$((last + 1))
  done
  for node in stock2 stock3; do
    redis_cli stock1 cluster meet 127.0.0.1 "$(port_of "$node")" "$(redis_cli "$node" config get cluster-port | tail -n 1)" >/dev/null
  done
  for node in stock1 stock2 stock3; do
    until redis_line "$node" cluster_state:ok cluster info; do sleep 0.05; done
  done
  dlock bench stock --json -b "redis+cluster://127.0.0.1:$(port_of stock1)" >>"$stage/stock.json"
  one_slot=$(figure take 20)
  dlock bench stock --json -b "redis+cluster://127.0.0.1:$(port_of stock1)?stock_slots=6" >>"$stage/stock.json"
  row 'redis cluster: plain takes/s, 6 slots' '>= 0.8' "$(figure take 20)" "one slot: $one_slot" \
    "$(quotient "$(figure take 20)" "$one_slot")"
  for node in stock1 stock2 stock3; do kill_redis "$node"; done
}
