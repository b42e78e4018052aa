# SPDX-License-Identifier: Apache-2.0
# ZooKeeper servers of one's own, for bats files that kill or stop them and for scripts/start-test-servers. They are
# Debian's jars, without a service. A tick is half a second, so sessions may be as short as one second; empty containers go within
# a second or two. What was answered survives a SIGKILL of the server, not one of the machine.

# shellcheck source=tests/support/servers.bash
. "${BASH_SOURCE[0]%/*}/servers.bash"

zookeeper_tick=500 # ms

# start_zookeeper NAME [LINE...]: an empty server, with more lines of configuration. Returns when it answers.
start_zookeeper() {
  local name=$1 _
  shift
  for _ in {1..10}; do
    write_zookeeper "$name" "$(some_port)" "$@"
    if launch_zookeeper "$name" && zookeeper_serves "$name"; then return; fi
    grep -qiF 'address already in use' "$servers/$name/log" || break
  done
  echo "zookeeper $name does not start:" >&2
  tail -n 5 "$servers/$name/log" >&2
  return 1
}

# start_ensemble NAME [LINE...]: the servers NAME1, NAME2, which leads, and NAME3. With linked=yes NAME3 follows through the
# proxy NAMElink (see network_of) and has no other.
start_ensemble() {
  local name=$1 _
  shift
  for _ in {1..5}; do
    ! start_three "$name" "$@" || return 0
    local i
    for i in 1 2 3; do kill_server "$name$i" 2>/dev/null || true; done
  done
  echo "the ensemble $name does not start:" >&2
  tail -n 3 "$servers/$name"[123]/log >&2
  return 1
}

# A server whose port for elections is taken serves for seconds before it ends; one whose port for clients another one of the
# three has is not missed by who asks there.
start_three() { # NAME [LINE...]
  local name=$1 i ports peers=() quorum=() election=()
  mapfile -t ports < <(some_ports 9)
  for i in 1 2 3; do quorum[i]=${ports[i + 2]} election[i]=${ports[i + 5]}; done
  for i in 1 2 3; do peers+=("server.$i=127.0.0.1:${quorum[i]}:${election[i]}"); done
  for i in 1 2 3; do
    write_zookeeper "$name$i" "${ports[i - 1]}" "${@:2}" "${peers[@]}"
    echo "$i" >"$servers/$name$i/data/myid"
  done
  if [ "${linked-}" ]; then
    proxy_to "${quorum[2]}" bytes "${name}link"
    sed -i "s/^server.2=.*/server.2=127.0.0.1:$(port_of "${name}link"):${election[2]}/" "$servers/${name}3/zoo.cfg"
  fi
  launch_zookeeper "${name}1" && launch_zookeeper "${name}2" && zookeeper_serves "${name}2" &&
    launch_zookeeper "${name}3" && zookeeper_serves "${name}1" && zookeeper_serves "${name}3" &&
    zookeeper_is "${name}2" leader && ! grep -qiF 'address already in use' "$servers/$name"[123]/log
}

write_zookeeper() { # NAME PORT [LINE...]: its folder, without data
  local folder=$servers/$1
  rm -rf -- "$folder"
  mkdir -p "$folder/data"
  echo "$2" >"$folder/port"
  printf '%s\n' "dataDir=$folder/data" clientPortAddress=127.0.0.1 "clientPort=$2" "tickTime=$zookeeper_tick" \
    initLimit=20 syncLimit=20 maxSessionTimeout=120000 maxClientCnxns=0 admin.enableServer=false '4lw.commands.whitelist=*' \
    preAllocSize=512 forceSync=no "${@:3}" >"$folder/zoo.cfg"
}

# The archives name what they need by absolute paths, which another release's would find on this machine: those come first.
zookeeper_classes() {
  local archive classes=
  for archive in zookeeper-jute zookeeper slf4j-simple; do classes+=:$root_of_servers/usr/share/java/$archive.jar; done
  echo "${classes#:}"
}

# Also starts again what was killed: same port, same data.
launch_zookeeper() { # NAME
  local folder=$servers/$1 pid
  (
    cd "$folder" || exit
    # Small and quick to start, rather than fast after an hour.
    exec java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto \
      -Dznode.container.checkIntervalMs=1000 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
      -cp "$(zookeeper_classes)" \
      org.apache.zookeeper.server.quorum.QuorumPeerMain "$folder/zoo.cfg" 3>&- </dev/null >log 2>&1
  ) &
  pid=$!
  started+=("$pid")
  disown "$pid"
  echo "$pid" >"$folder/pid"
}

restart_zookeeper() { # NAME
  launch_zookeeper "$1" && zookeeper_serves "$1"
}

# zookeeper_says NAME WORD: its answer to a word of four letters.
zookeeper_says() {
  local connection
  { exec {connection}<>"/dev/tcp/127.0.0.1/$(port_of "$1")"; } 2>/dev/null || return
  printf '%s' "$2" >&"$connection"
  timeout 2 cat <&"$connection" 2>/dev/null || true
  exec {connection}>&-
}

# What a server is, as $mode: leader, follower, standalone. Fails while it is nothing of these. A look starts no process.
zookeeper_mode() { # NAME
  local connection port line
  read -r port <"$servers/$1/port"
  mode=
  { exec {connection}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || return
  printf srvr >&"$connection"
  while read -r -t 2 -u "$connection" line 2>/dev/null; do
    if [[ $line == 'Mode: '* ]]; then mode=${line#Mode: }; fi
  done
  exec {connection}>&-
  [ "$mode" ]
}
zookeeper_is() { zookeeper_mode "$1" && [ "$mode" = "$2" ]; } # NAME leader|follower|standalone
zookeeper_serves() {                                          # NAME: waits until it has a mode
  local end=$((SECONDS + 30)) mode
  until zookeeper_mode "$1"; do
    kill -0 "$(pid_of_server "$1")" 2>/dev/null && [ "$SECONDS" -lt "$end" ] || return 1
    nap 30000
  done
}

zookeeper_counts() { zookeeper_says "$1" mntr | awk -v name="$2" '$1 == name { print $2 }'; } # NAME COUNTER

zookeeper_url() { # NAME...: those servers
  local name hosts=
  for name in "$@"; do hosts+=,127.0.0.1:$(port_of "$name"); done
  echo "zk://${hosts#,}"
}

# The server NAME as the store of tests that kill it and start it again; $protocol is how failing_network reads it.
begin_with_zookeeper() { protocol=bytes && start_zookeeper "$1" && use "$(zookeeper_url "$1")"; } # NAME
