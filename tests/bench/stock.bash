# SPDX-License-Identifier: Apache-2.0
# The rows of scripts/bench for stocks: on this machine, and on a Redis of its own; and the picture of the README. Sourced:
# row, quotient, own, stage and redis.bash's functions are those of scripts/bench.
# shellcheck disable=SC2154

stock_rows() {
  stock_rows_of local "local:$stage/stock?sync=normal"
  start_redis stock
  own+=("$(pid_of_redis stock)")
  stock_rows_of redis "$(redis_url stock)"
  stock_bare_script
  scripts/stock-chart <"$stage/stock.json" >build/stock.svg
  echo "picture: build/stock.svg" >&2
  stock_rows_of 'redis, decr' "$(redis_url stock)?stock=decr"
  kill_redis stock
  stock_cluster
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

# Plain takes against the least that a script must do: look, deduct. As many clients on both sides.
stock_bare_script() {
  local bare ours
  redis_cli stock set bare 100000000 >/dev/null
  bare=$(redis-benchmark -p "$(port_of stock)" -c 8 -n 50000 --csv eval \
    "if tonumber(redis.call('GET',KEYS[1]))>=1 then return redis.call('DECRBY',KEYS[1],1) end return -1" 1 bare |
    awk -F'"' 'NR == 2 { printf "%d", $4 }')
  ours=$(figure take 20)
  row 'redis: plain takes/s' '>= 0.8' "$ours" "bare script: $bare" "$(quotient "$ours" "$bare")"
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
