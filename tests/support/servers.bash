# SPDX-License-Identifier: Apache-2.0
# What servers of every kind have in common, for tests/support/redis.bash and its kin. Each has a NAME and lives in
# $servers/NAME: log, pid, port, data. They listen on 127.0.0.1 at ports that were free.

# shellcheck source=tests/support/waiting.bash
. "${BASH_SOURCE[0]%/*}/waiting.bash"

servers=${servers:-${BATS_TEST_TMPDIR:+$BATS_TEST_TMPDIR/servers}}
started=("${started[@]}")

# So many different ports below those that the kernel gives to clients. Whether one is free is seen when the server binds it.
first_port=20000 last_port=31999
some_ports() { shuf -i "$first_port-$last_port" -n "$1"; }
some_port() { echo $((first_port + SRANDOM % (last_port - first_port + 1))); }

# Servers of another release of Debian: DLOCK_TEST_ROOT is a root of it (scripts/bare-root), whose programs run with the
# loader and the libraries of that root. Without it they are this machine's.
root_of_servers=${DLOCK_TEST_ROOT-}

# exec_server NAME PROGRAM WORD...: becomes the server, which believes that it was called NAME.
exec_server() {
  local name=$1 program
  program=$(type -P "$2") || program=/usr/sbin/$2
  [ "$root_of_servers" ] || exec -a "$name" "$program" "${@:3}"
  program=$(PATH=$root_of_servers/usr/sbin:$root_of_servers/usr/bin type -P "$2") || return 127
  local libraries
  libraries=$(printf ':%s' "$root_of_servers"/usr/lib/*-linux-gnu* "$root_of_servers"/usr/lib/mysql/private "$root_of_servers"/usr/lib/mysql-router)
  exec "$root_of_servers"/lib64/ld-linux-*.so.* --argv0 "$name" --library-path "${libraries#:}" "$program" "${@:3}"
}

port_of() { first_line "$servers/$1/port"; }
pid_of_server() { first_line "$servers/$1/pid"; }

kill_server() { # NAME [SIGNAL]: returns when it is gone
  local pid
  pid=$(pid_of_server "$1")
  kill "-${2:-KILL}" "$pid"
  until ended "$pid"; do nap 5000; done
}

# --- a network that fails (programs/failing_network.cpp) -------------------------------------------------------------

# start_proxy NAME [PROTOCOL [PROXY]]: between clients and the server NAME. Then port_of proxy is the way through it.
start_proxy() { proxy_to "$(port_of "$1")" "${2:-redis}" "${3:-proxy}"; }

proxy_to() { # PORT PROTOCOL PROXY
  mkdir -p "$servers"
  # shellcheck disable=SC2154 # of cli.bash
  "$programs/failing_network" "$servers/$3" "$1" "$2" 3>&- &
  started+=("$!")
  disown "$!"
  wait_until filled "$servers/$3/port"
}

# network COMMAND...: see failing_network.cpp. Returns when it is so.
network() { network_of proxy "$@"; }
network_of() { # PROXY COMMAND...
  local answer
  exec {control}<>"/dev/tcp/127.0.0.1/$(first_line "$servers/$1/control")"
  echo "${*:2}" >&"$control"
  read -r -t 10 answer <&"$control"
  exec {control}>&-
  case $answer in
    ok) ;;
    *[0-9]*) echo "$answer" ;;
    *) echo "network $*: ${answer:-no answer}" >&2; return 1 ;;
  esac
}

# --- servers that a whole file uses ----------------------------------------------------------------------------------

# They live in $BATS_FILE_TMPDIR; a test that wants to stop one starts its own beside them.
in_file() { servers=$BATS_FILE_TMPDIR/servers "$@"; } # start_... NAME, in setup_file; kill_server NAME, in teardown_file
share_file_servers() {                                # in setup
  mkdir -p "$servers"
  ln -s "$BATS_FILE_TMPDIR"/servers/* "$servers"
}
