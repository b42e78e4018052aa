# SPDX-License-Identifier: Apache-2.0
# Redis servers of one's own, for bats files that kill or stop them and for scripts/start-test-servers.
#
# Debian's redis-tools carries the whole server: redis-check-rdb is a server when it is called redis-server.

# shellcheck source=tests/support/servers.bash
. "${BASH_SOURCE[0]%/*}/servers.bash"

# Valkey's is called valkey-check-rdb.
redis_program=${DLOCK_TEST_REDIS_PROGRAM:-redis-check-rdb}

# start_redis NAME [OPTION...]: an empty server, unless the options say more. PORT and BUS in an option stand for free
# ports. Returns when it answers; its URL is redis_url NAME.
start_redis() {
  local name=$1 _
  shift
  for _ in {1..20}; do
    mkdir -p "$servers/$name"
    local port bus
    port=$(some_port) bus=$(some_port)
    local options=("${@//PORT/$port}")
    options=("${options[@]//BUS/$bus}")
    [[ " $* " == *" PORT "* ]] || options+=(--port "$port")
    echo "$port" >"$servers/$name/port"
    printf '%s\0' --bind 127.0.0.1 --save '' --appendonly no --dir "$servers/$name" "${options[@]}" >"$servers/$name/options"
    ! launch redis-server "$name" 'Ready to accept connections' || return 0
    grep -qF 'already in use' "$servers/$name/log" || break
  done
  echo "redis $name does not start:" >&2
  tail -n 5 "$servers/$name/log" >&2
  return 1
}

# Starts again what was killed or stopped: same port, same options, and the data if it had any on disk.
restart_redis() { launch redis-server "$1" 'Ready to accept connections'; }

# start_sentinel NAME MASTER [MS]: watches the server MASTER under the name "main", with a quorum of 2. One that is silent for
# so long is replaced.
start_sentinel() {
  local port _
  for _ in {1..20}; do
    mkdir -p "$servers/$1"
    port=$(some_port)
    echo "$port" >"$servers/$1/port"
    printf '%s\n' "port $port" 'bind 127.0.0.1' "dir \"$servers/$1\"" "sentinel monitor main 127.0.0.1 $(port_of "$2") 2" \
      "sentinel down-after-milliseconds main ${3:-500}" 'sentinel failover-timeout main 2000' >"$servers/$1/sentinel.conf"
    printf '%s\0' "$servers/$1/sentinel.conf" >"$servers/$1/options"
    ! launch redis-sentinel "$1" 'Sentinel ID is' || return 0
  done
  return 1
}

start_tair() { # NAME: a stand-in for a Tair server
  local program pid
  program=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/fake_tair.py
  mkdir -p "$servers/$1"
  (
    cd "$servers/$1" || exit
    exec "$program" . 3>&- </dev/null >log 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  until [ -s "$servers/$1/port" ]; do
    kill -0 "$pid" || return
    nap 5000
  done
}

# launch PROGRAM NAME PATTERN: runs it with the options it was given and waits until its log has the PATTERN.
launch() {
  local folder=$servers/$2 options pid
  mapfile -d '' options <"$folder/options"
  : >"$folder/log"
  (
    cd "$folder" || exit
    # As a command from a shell has them, so that it can be stopped and interrupted like one.
    exec_server "$1" "$redis_program" "${options[@]}" 3>&- </dev/null >>log 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  echo "$pid" >"$folder/pid"
  wait_for_log "$pid" "$folder/log" "$3"
}

pid_of_redis() { pid_of_server "$1"; }
redis_url() { echo "redis://127.0.0.1:$(port_of "$1")"; }
redis_cli() { # NAME WORD...
  redis-cli -h 127.0.0.1 -p "$(port_of "$1")" "${@:2}"
}
redis_says() { # NAME ANSWER WORD...: what it answers to the words
  [ "$(redis_cli "$1" "${@:3}" 2>&1)" = "$2" ]
}
redis_line() { # NAME LINE WORD...: its answer has this line (a line ends with CR in INFO)
  redis_cli "$1" "${@:3}" 2>&1 | tr -d '\r' | grep -qxF -- "$2"
}

kill_redis() { kill_server "$@"; }

# --- bodies of tests, for every layout on the server "one" (faults.bash is loaded) -------------------------------------

memory_is_full() {
  start_watched a dlock run --ttl $((2 * slowness))s k -- section --for $((4 * slowness))
  wait_until begun 1
  redis_cli one config set maxmemory 1
  run -69 dlock run -n other -- touch ran
  [[ "$output" == *memory* ]]
  [ ! -e ran ]
  [ "$(how_ended a)" = "exit 0" ]
  redis_cli one config set maxmemory 0
  run -0 dlock run -n k -- true
}

# Around the proxy is $direct.
silent_behind_the_grant() { # ANSWERS: that come before it, and its own
  local owner _
  network hang 1
  network cut replies "$1"
  run -0 dlock acquire -n --ttl "$((60 * slowness))s" k
  read -r owner _ <<<"$output"
  DLOCK_BACKEND=$direct dlock release --owner "$owner" k
}

everybody_is_killed() {
  start_watched a dlock run --ttl $((2 * slowness))s k -- section --for $((2 * slowness))
  wait_until begun 1
  wait_section b
  local type
  for type in normal pubsub normal pubsub; do
    redis_cli one client kill type "$type" skipme yes
    sleep 0.3
  done
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  gap_below 1500
}

# The server NAME as the store of tests that kill it and start it again; $protocol is how failing_network reads it.
begin_with_redis() { # NAME
  protocol=redis
  start_redis "$1" --appendonly yes --appendfsync always && use "$(redis_url "$1")"
}
