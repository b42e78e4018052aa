# SPDX-License-Identifier: Apache-2.0
# dlock-tls.so, without which a keeper of Redis has no TLS: who loads it, and what is said where that is impossible.
load ../support/cli
load ../support/redis

setup() {
  set_world
  need_servers
  key=app:$BATS_TEST_NUMBER
  maps='cat "/proc/$(pgrep -P $(ps -o ppid= -p $PPID) -x dlock-redis)/maps"'
}
teardown() { end_world; }

# A tree of our own, whose module a test replaces.
own_tree() {
  mkdir -p prefix/bin prefix/libexec/dlock
  cp "$DLOCK" prefix/bin/dlock
  cp "${DLOCK%/bin/dlock}/libexec/dlock"/dlock-{redis,tls.so} prefix/libexec/dlock/
  module=$PWD/prefix/libexec/dlock/dlock-tls.so
}

refuses_tls() { # TEXT...: with status 78, having run nothing; plain text works as before
  local text command
  for command in "run -n $key -- touch ran" "inspect $key" "stock take phone"; do
    # shellcheck disable=SC2086 # words
    DLOCK_BACKEND=$DLOCK_TEST_REDIS_TLS run -78 prefix/bin/dlock $command
    for text in "$module" 'apt install --reinstall dlock-redis' "$@"; do
      [[ "$output" == *"$text"* ]] || { echo "$command: no '$text' in: $output"; return 1; }
    done
  done
  [ ! -e ran ]
  run -0 prefix/bin/dlock run -b "$DLOCK_TEST_REDIS" "$key" -- true
}

@test "plain text and Sentinel load no OpenSSL; TLS loads the module beside the program" {
  local url
  for url in "$DLOCK_TEST_REDIS" "${DLOCK_TEST_REDIS/127.0.0.1/localhost}" "$DLOCK_TEST_SENTINEL"; do
    run -0 dlock run -b "$url" "$key" -- sh -c "$maps"
    [[ "$output" == */libexec/dlock/dlock-redis*libc.so* && "$output" != *dlock-tls* && "$output" != *libssl* && "$output" != *libcrypto* ]]
  done
  run -0 dlock run -b "$DLOCK_TEST_REDIS_TLS" "$key" -- sh -c "$maps"
  [[ "$output" == */libexec/dlock/dlock-tls.so* && "$output" == *libssl* && "$output" == *libcrypto* ]]
}

@test "without the module: no TLS, with the file and the package, whatever lies on a search path" {
  own_tree
  mkdir path
  mv "$module" path/
  export LD_LIBRARY_PATH=$PWD/path
  cd path
  ln -s ../prefix .
  refuses_tls 'TLS is not installed: there is no '
}

@test "a module that is garbage, empty, a folder, or no module of this dlock is not used" {
  own_tree
  head -c 9000 /dev/zero >"$module"
  refuses_tls 'invalid ELF header'
  : >"$module"
  refuses_tls 'file too short'
  cp "$(ldd /bin/sh | awk '$1 == "libc.so.6" { print $3 }')" "$module"
  refuses_tls 'undefined symbol: dlock_tls'
  rm "$module"
  mkdir "$module"
  refuses_tls 'cannot read file data'
}

# bats test_tags=all
@test "a module whose libraries are missing or too old is not used, and the library is named" {
  own_tree
  echo 'int needed() { return 0; }' >needed.cpp
  echo 'VERSION_1 { *; };' >versions
  c++ -shared -fPIC needed.cpp -Wl,-soname,libneeded.so,--version-script=versions -o libneeded.so
  echo 'int needed(); int dlock_tls_2 = needed();' >module.cpp
  c++ -shared -fPIC module.cpp libneeded.so -o "$module"
  mv libneeded.so aside
  refuses_tls 'libneeded.so: cannot open shared object file'
  mkdir old
  echo 'VERSION_0 { *; };' >versions
  c++ -shared -fPIC needed.cpp -Wl,-soname,libneeded.so,--version-script=versions -o old/libneeded.so
  LD_LIBRARY_PATH=$PWD/old refuses_tls 'libneeded.so: version `VERSION_1'
}

@test "certificates: what is wrong with which file, and what to add" {
  local files=$DLOCK_TEST_CERTIFICATES row url wanted next
  local tls=${DLOCK_TEST_REDIS_TLS%%\?*} mutual=${DLOCK_TEST_REDIS_MTLS%%\?*}
  for row in "$tls 78 name the authority that signed it with ca-file" \
    "$tls?ca-file=$files/other-ca.crt 78 the authority in $files/other-ca.crt has not signed it" \
    "$tls?ca-file=/nowhere 78 the ca-file /nowhere cannot be used: No such file" \
    "$tls?ca-file=$files/ca.crt&cert-file=/etc/passwd&key-file=/etc/passwd 78 the cert-file /etc/passwd cannot be used" \
    "$mutual?ca-file=$files/ca.crt 77 cert-file and key-file"; do
    read -r url wanted next <<<"$row"
    run dlock run -b "$url" -n "$key" -- touch ran
    echo "$url: $output"
    [ "$status" = "$wanted" ]
    [[ "$output" == *"$next"* && ! -e ran ]]
    [[ $url != *nowhere* && $url != *passwd* ]] || [[ "$output" != *"cannot reach"* ]]
  done
}

# By TLS 1.3 the server judges it when the handshake is over for us, and may reset the connection meanwhile.
@test "a client certificate that is refused is no outage, however often it is tried, and nothing runs without the lock" {
  local files=$DLOCK_TEST_CERTIFICATES who url
  local server=${DLOCK_TEST_REDIS_MTLS%%\?*}
  timeout 600 sh -c 'while :; do :; done' 3>&- &
  local busy=$!
  for who in none expired other-client; do
    url="$server?ca-file=$files/ca.crt"
    [ "$who" = none ] || url+="&cert-file=$files/$who.crt&key-file=$files/$who.key"
    for _ in {1..60}; do
      run -77 dlock run -n --if-unavailable run -b "$url" "$key" -- touch ran
      [[ "$output" == *"cert-file and key-file"* ]]
    done
    run -77 dlock inspect -b "$url" "$key"
    run -77 dlock doctor -b "$url"
    run -77 dlock run -w 20s -b "${url/rediss:/rediss+cluster:}" "$key" -- touch ran
    url=${url/rediss:/rediss+sentinel:}
    run -77 dlock run -w 20s -b "${url/\?//main?}" "$key" -- touch ran
  done
  kill "$busy"
  [ ! -e ran ]
}

@test "an authority that is withdrawn: its holder ends with its lease, whoever waits at once, each with the reason" {
  local files=$DLOCK_TEST_CERTIFICATES
  servers=$BATS_TEST_TMPDIR/servers
  start_redis own --port 0 --tls-port PORT --tls-cert-file "$files/server.crt" --tls-key-file "$files/server.key" \
    --tls-ca-cert-file "$files/ca.crt" --tls-auth-clients yes
  own() { redis-cli --tls --cacert "$files/ca.crt" --cert "$files/$1.crt" --key "$files/$1.key" -p "$(port_of own)" "${@:2}"; }
  DLOCK_BACKEND="rediss://127.0.0.1:$(port_of own)?ca-file=$files/ca.crt&cert-file=$files/client.crt&key-file=$files/client.key"
  export DLOCK_BACKEND
  start_watched holder dlock run --ttl $((3 * slowness))s "$key" -- sh -c 'echo $$ >pid; exec sleep 100' 2>holder.err
  wait_until filled pid
  start_watched waiter dlock run -w 100s "$key" -- touch ran 2>waiter.err
  wait_until has 1 waiters "$key"
  own client config set tls-ca-cert-file "$files/other-ca.crt"
  own other-client client kill type normal
  own other-client client kill type pubsub || true
  [ "$(how_ended waiter)" = "exit 77" ]
  [ "$(how_ended holder)" = "exit 79" ]
  [ ! -e ran ]
  grep -q 'the server refused our certificate' waiter.err
  grep -q 'LOST.*the server refused our certificate' holder.err
  kill_redis own
}

@test "a program with raised privileges does not load the module" {
  need_root
  open_world
  own_tree
  chmod u+s prefix/libexec/dlock/dlock-redis
  [[ "$(nobody findmnt -no OPTIONS -T "$module")" != *nosuid* ]] || skip 'files are on a file system without setuid'
  run -78 nobody prefix/bin/dlock run -n -b "$DLOCK_TEST_REDIS_TLS" "$key" -- touch ran
  [[ "$output" == *"raised privileges"*"$module"* ]]
  [ ! -e ran ]
}

# bats test_tags=all
@test "without memory or descriptors for the module: 71, nothing run" {
  own_tree
  run -71 bash -c 'ulimit -v 9000; exec prefix/libexec/dlock/dlock-redis inspect -b "$1" k' - "$DLOCK_TEST_REDIS_TLS"
  [[ "$output" == *"ulimit -v"* ]]
}
