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

# Once a file of tests: compile_peers, in setup_file.
compile_peers() {
  mkdir "$BATS_FILE_TMPDIR/java"
  javac -nowarn -cp "$(curator_jars .)" -d "$BATS_FILE_TMPDIR/java" "$root"/tests/interop/java/*.java
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

# --- tests, one path each, on the server "one" of the file ------------------------------------------------------------

set_path() { # in setup
  set_world
  share_file_servers
  script_section
  key=k$BATS_TEST_NUMBER
  path=/$key
  use_recipe curator
}

dies_with_the_lock() { # PEER FAMILY: its session ends 2 s later
  [ "$(ask "$1" take a "$2" "$path" 5000)" = "held a" ]
  tell "$1" crash
  run -75 attempt true
  run -0 dlock run -q -w 10 "$key" -- true
}

# PEER holds, dlock waits behind it, OTHER PEER behind that; then "$@" have come as well.
theirs_ours_theirs() { # PEER OTHER-PEER FAMILY [COMMAND...]
  [ "$(ask "$1" take a "$3" "$path" 5000)" = "held a" ]
  start_watched first dlock run -q "$key" -- section --for 0.2
  wait_until has 1 waiters "$key"
  tell "$2" take b "$3" "$path" 20000
  wait_until has 2 waiters "$key"
  "${@:4}"
  [ "$(ask "$1" free a)" = "free a" ]
  [ "$(how_ended first)" = "exit 0" ]
  [ "$(hear "$2")" = "held b" ]
}

# --- cells of the matrix: who shuts out whom -------------------------------------------------------------------------

# theirs_shuts_out PEER FAMILY [DLOCK-OPTION...]: PEER holds $path, dlock with $recipe is refused, and served afterwards.
theirs_shuts_out() {
  [ "$(ask "$1" take x "$2" "$path" 5000)" = "held x" ]
  echo "$recipe ${*:3} while $1 has a $2"
  run -75 attempt "${@:3}" touch ran
  [ ! -e ran ]
  [ "$(ask "$1" free x)" = "free x" ]
  run -0 attempt "${@:3}" true
}

# ours_shuts_out PEER FAMILY [DLOCK-OPTION...]: the other way round.
ours_shuts_out() {
  echo "$2 of $1 while dlock has $recipe ${*:3}"
  DLOCK_BACKEND=$(backend) hold_lock "${@:3}" "$key"
  [ "$(ask "$1" take x "$2" "$path" 200)" = "busy x" ]
  let_go
  [ "$(ask "$1" take x "$2" "$path" 5000)" = "held x" ]
  ask "$1" free x
}

# both_hold PEER FAMILY [DLOCK-OPTION...]: neither minds the other.
both_hold() {
  echo "$recipe ${*:3} with a $2 of $1"
  [ "$(ask "$1" take x "$2" "$path" 5000)" = "held x" ]
  run -0 attempt "${@:3}" true
  DLOCK_BACKEND=$(backend) hold_lock "${@:3}" "$key"
  [ "$(ask "$1" take y "$2" "$path" 5000)" = "held y" ]
  let_go
  ask "$1" free x
  ask "$1" free y
}

# lease_shuts_out PEER FAMILY [DLOCK-OPTION...]: PEER waits behind a lease that no process keeps, and goes on when that is
# over and gc, or a dlock behind it, has removed it.
lease_shuts_out() {
  echo "$2 of $1 behind a lease ${*:3}"
  local owner by
  for by in gc dlock; do
    run -0 --separate-stderr dlock acquire --ttl 5m "${@:3}" "$key"
    owner=${output%% *}
    tell "$1" take x "$2" "$path" 60000
    wait_until has 1 waiters "$key"
    run -0 dlock gc
    [[ "$output" != *"$key"* ]]
    [ "$by" = gc ] || start_watched late dlock run -q "$key" -- true
    [ "$by" = gc ] || wait_until has 2 waiters "$key"
    run -0 dlock renew --ttl 1s --owner "$owner" "$key"
    [ "$by" = dlock ] || wait_until lease_is_swept
    [ "$(hear "$1")" = "held x" ]
    ask "$1" free x
    [ "$by" = gc ] || [ "$(how_ended late)" = "exit 0" ]
  done
}
lease_is_swept() { dlock gc | grep -q "$key: a lease that has ended"; }

each_shuts_out_the_other() {
  theirs_shuts_out "$@"
  ours_shuts_out "$@"
}

backend() { echo "$(zookeeper_url one)?recipe=$recipe"; }
use_recipe() {
  recipe=$1
  DLOCK_BACKEND=$(backend)
  export DLOCK_BACKEND
}
attempt() { # [DLOCK-OPTION...] COMMAND [ARG]: one attempt
  local options=("$@") command=()
  while [[ ${#options[@]} -gt 0 && ${options[-1]} != -* && ${options[-1]} != [0-9]* ]]; do
    command=("${options[-1]}" "${command[@]}")
    unset 'options[-1]'
  done
  dlock run -q -n -b "$(backend)" "${options[@]}" "$key" -- "${command[@]}"
}
