# SPDX-License-Identifier: Apache-2.0
# Foreign clients of ZooKeeper locks, for tests/interop: Curator in Java and kazoo in Python. Each is a process that does
# what it is asked (CuratorPeer.java, kazoo_peer.py).

curator_jars() {
  local jar path=$1
  for jar in zookeeper zookeeper-jute curator-recipes curator-framework curator-client guava slf4j-api slf4j-nop; do
    path+=:/usr/share/java/$jar.jar
  done
  echo "$path"
}

# Once a file of tests: compile_curator, in setup_file.
compile_curator() {
  mkdir "$BATS_FILE_TMPDIR/java"
  javac -nowarn -cp "$(curator_jars .)" -d "$BATS_FILE_TMPDIR/java" "$root/tests/interop/java/CuratorPeer.java"
}

# curator NAME [SERVER [SESSION-MS]] and kazoo NAME ...: start such a client, to be asked by `ask NAME`.
curator() {
  peer "$1" java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto \
    -cp "$(curator_jars "$BATS_FILE_TMPDIR/java")" CuratorPeer "127.0.0.1:$(port_of "${2:-one}")" "${3:-10000}"
}
kazoo() {
  peer "$1" /usr/bin/python3 -E "$support/kazoo_peer.py" "127.0.0.1:$(port_of "${2:-one}")" "${3:-10000}"
}

declare -gA peer_in=() peer_out=() peer_pid=()
peer() { # NAME COMMAND...
  local name=$1 in out
  shift
  mkfifo "$name.in" "$name.out"
  "$@" <"$name.in" >"$name.out" 3>&- &
  peer_pid[$name]=$!
  started+=("$!")
  disown "$!"
  exec {in}>"$name.in" {out}<"$name.out"
  peer_in[$name]=$in peer_out[$name]=$out
}

tell() { echo "${*:2}" >&"${peer_in[$1]}"; } # NAME WORD...
hear() {                                     # NAME: prints its next line
  local line
  read -r -t "$patience" line <&"${peer_out[$1]}" || { echo "$1 says nothing" >&2; return 1; }
  echo "$line"
}
ask() { # NAME WORD...: prints the answer
  tell "$@"
  hear "$1"
}
