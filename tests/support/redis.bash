# SPDX-License-Identifier: Apache-2.0
# Redis servers of one's own, for bats files that kill or stop them and for scripts/start-test-servers. Each has a NAME
# and lives in $servers/NAME: log, pid, port, data. They listen on 127.0.0.1 at ports that were free.
#
# Debian's redis-tools carries the whole server: redis-check-rdb is a server when it is called redis-server.

servers=${servers:-${BATS_TEST_TMPDIR:+$BATS_TEST_TMPDIR/servers}}
started=("${started[@]}")

# A port below those that the kernel gives to clients. Whether it is free is seen when the server binds it.
some_port() { echo $((20000 + (RANDOM * 32768 + RANDOM) % 12000)); }

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

# start_sentinel NAME MASTER: watches the server MASTER under the name "main", with a quorum of 2.
start_sentinel() {
  local port _
  for _ in {1..20}; do
    mkdir -p "$servers/$1"
    port=$(some_port)
    echo "$port" >"$servers/$1/port"
    printf '%s\n' "port $port" 'bind 127.0.0.1' "dir $servers/$1" "sentinel monitor main 127.0.0.1 $(port_of "$2") 2" \
      'sentinel down-after-milliseconds main 500' 'sentinel failover-timeout main 2000' >"$servers/$1/sentinel.conf"
    printf '%s\0' "$servers/$1/sentinel.conf" >"$servers/$1/options"
    ! launch redis-sentinel "$1" 'Sentinel ID is' || return 0
  done
  return 1
}

# launch PROGRAM NAME PATTERN: runs it with the options it was given and waits until its log has the PATTERN.
launch() {
  local folder=$servers/$2 options pid
  mapfile -d '' options <"$folder/options"
  : >"$folder/log"
  (
    cd "$folder" || exit
    # As a command from a shell has them, so that it can be stopped and interrupted like one.
    exec -a "$1" redis-check-rdb "${options[@]}" 3>&- </dev/null >>log 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  echo "$pid" >"$folder/pid"
  until grep -q "$3" "$folder/log"; do
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.005
  done
}

port_of() { cat "$servers/$1/port"; }
pid_of_redis() { cat "$servers/$1/pid"; }
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

kill_redis() { # NAME [SIGNAL]: returns when it is gone
  local pid
  pid=$(pid_of_redis "$1")
  kill "-${2:-KILL}" "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.005; done
}

# --- a network that fails (cutting_proxy.py) -------------------------------------------------------------------------

# start_proxy NAME [PROXY [--raw]]: between clients and the server NAME. Then redis_url PROXY ("proxy") is the way through it.
start_proxy() {
  local proxy=${2-proxy}
  /usr/bin/python3 -S -E "$support/cutting_proxy.py" "$servers/$proxy" 127.0.0.1 "$(port_of "$1")" "${@:3}" 3>&- &
  started+=("$!")
  disown "$!"
  wait_until filled "$servers/$proxy/port"
}

# network COMMAND...: see cutting_proxy.py. Returns when it is so.
network() { network_of proxy "$@"; }
network_of() { # PROXY COMMAND...
  local answer proxy=$1
  shift
  exec {control}<>"/dev/tcp/127.0.0.1/$(cat "$servers/$proxy/control")"
  echo "$*" >&"$control"
  read -r -t 10 answer <&"$control"
  exec {control}>&-
  case $answer in
    ok) ;;
    *[0-9]*) echo "$answer" ;;
    *) echo "network $*: ${answer:-no answer}" >&2; return 1 ;;
  esac
}
