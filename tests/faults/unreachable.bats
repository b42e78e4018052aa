# SPDX-License-Identifier: Apache-2.0
# Servers that are not there, for every kind of backend URL.
load ../support/cli
load ../support/stores

setup() {
  set_world
  export RES_OPTIONS='attempts:1 timeout:1'
}
teardown() { end_world; }

# One attempt, in far less than the connection's time-out.
is_told_at_once() { # URL
  local before
  before=$(now_ms)
  run dlock run -n --connect-timeout 30s -b "$1" k -- touch ran
  echo "$1: $status after $(($(now_ms) - before)) ms: $output"
  [ "$status" = 69 ]
  [ ! -e ran ]
  [ $(($(now_ms) - before)) -lt 15000 ]
}

@test "-n where the connection is refused: 69 at once, on every backend" {
  local url
  for url in $(urls_at 127.0.0.1:1 127.0.0.1:2 127.0.0.1:3); do is_told_at_once "$url"; done
}

@test "-n where the host is unknown: 69 at once, on every backend" {
  local url
  for url in $(urls_at one..invalid two..invalid three..invalid); do is_told_at_once "$url"; done
}

# bats test_tags=all
@test "who looks at all locks is told within the connection's time-out that no server can be reached, 69" {
  local url command before
  for url in $(urls_at 127.0.0.1:1 127.0.0.1:2 127.0.0.1:3); do
    for command in inspect gc; do
      before=$(now_ms)
      run timeout 60 dlock "$command" -b "$url"
      echo "$command $url: $status after $(($(now_ms) - before)) ms: $output"
      [ "$status" = 69 ]
      [ $(($(now_ms) - before)) -lt $((5000 + 3000 * slowness)) ]
    done
  done
}

# The time that it was given, and a second to give back what may have been set aside.
stock_is_told_in_time() { # ACTIONS URL OPTION...
  local before what actions=$1
  shift
  for what in $actions; do
    before=$(now_ms)
    case $what in
      run) run dlock stock run -b "$@" phone -- touch ran ;;
      refund) run dlock stock refund --id a -b "$@" phone ;;
      drop) run dlock stock drop --yes -b "$@" phone ;;
      *) run dlock stock "$what" -b "$@" phone ;;
    esac
    echo "$what $*: $status after $(($(now_ms) - before)) ms: $output"
    [ "$status" = 69 ]
    [ ! -e ran ]
    [ $(($(now_ms) - before)) -lt $((1000 + 2500 * slowness)) ]
    [[ "$output" == *"cannot reach "* && "$output" != *"may have been done"* ]]
  done
}

# bats test_tags=all
@test "stocks: -w and --connect-timeout are kept where no server can be reached" {
  local url
  for url in $(urls_at 127.0.0.1:1 127.0.0.1:2 127.0.0.1:3 stock | grep -v strategy); do
    stock_is_told_in_time 'take run' "$url" -w 1
    stock_is_told_in_time 'take run refund rebalance drop' "$url" --connect-timeout 1s
    stock_is_told_in_time 'take run' "$url" -n --connect-timeout 1s
  done
}

# silent_servers: on the first three addresses of this machine, at the same port, which is in the file port.
silent_servers() {
  start "${python[@]}" -c '
import socket, time
servers = [socket.create_server(("127.0.0.1", 0), backlog=1000)]
port = servers[0].getsockname()[1]
servers += [socket.create_server((host, port), backlog=1000) for host in ("127.0.0.2", "127.0.0.3")]
print(port, flush=True)
time.sleep(300)' >port
  wait_until filled port
}

# bats test_tags=all
@test "commands that supervise nothing keep --connect-timeout where a server says nothing, 69" {
  silent_servers
  local url command before port
  port=$(cat port)
  for url in $(urls_at "127.0.0.1:$port" "127.0.0.2:$port" "127.0.0.3:$port" | grep -vE '^(rediss:|zk:.*,)'); do
    for command in 'inspect k' inspect 'ping' 'check k 5' 'release --owner 00000000000000000000000000000001 k' 'force-release --yes k' 'gc' 'stock show p' 'stock show' doctor; do
      [[ $command != stock* || $url != redlock:* ]] || continue # it keeps none
      [[ $command != doctor || $url =~ ^(redis|zk): ]] || continue
      before=$(now_ms)
      # shellcheck disable=SC2086
      run timeout 60 dlock $command -b "$url" --connect-timeout 1s
      echo "$command $url: $status after $(($(now_ms) - before)) ms: $output"
      [ "$status" = 69 ]
      [ $(($(now_ms) - before)) -lt $((1500 + 1500 * slowness)) ]
    done
  done
}

@test "a server that says nothing is named on the terminal, with how long we have waited, and ^C wipes that" {
  silent_servers
  local url
  while read -r _ url <&4; do
    run -130 terminal "expect:connecting to ${url}[^ ]*, [0-9] s of 1 min" 'send:\x03' -- dlock run -b "$url" --connect-timeout 30s -w 1m k -- touch ran
    [[ "$output" == *"^C"*$'\r\e[K' ]]
  done 4< <(first_url_of_each "127.0.0.1:$(cat port)")
  [ ! -e ran ]
}
