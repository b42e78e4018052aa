# SPDX-License-Identifier: Apache-2.0
# Ways to connect to MySQL from outside, with the server of scripts/start-test-servers: sockets, names, TLS.
load ../support/cli
load ../support/mysql

setup() { set_world && use_shared_mysql; }
teardown() { end_world; }

@test "by a Unix socket, and by TLS: the same lock" {
  use "$DLOCK_TEST_MYSQL_UNIX"
  locks_and_excludes "$key"
  rm -f waited waiter
  use "$DLOCK_TEST_MYSQL_TLS"
  locks_and_excludes "$key"
  hold_lock "$key"
  run -75 dlock run -q -n -b "$DLOCK_TEST_MYSQL" "$key" -- true
  run -75 dlock run -q -n -b "$DLOCK_TEST_MYSQL_UNIX" "$key" -- true
  let_go
}

@test "mysql://localhost: the name is looked up, and is the one that the certificate must have" {
  run -0 dlock run -b "${DLOCK_TEST_MYSQL/127.0.0.1/localhost}" "$key" -- true
  run -0 dlock run -b "${DLOCK_TEST_MYSQL_TLS/127.0.0.1/localhost}" "$key" -- true
}

@test "TLS is what the server says it is: the session has a cipher, and without ca-file none" {
  run -0 dlock doctor -b "$DLOCK_TEST_MYSQL_TLS"
  [[ "$output" == *TLS* ]]
  run -0 dlock run -b "${DLOCK_TEST_MYSQL_TLS/app@/certified@}&cert-file=$DLOCK_TEST_CERTIFICATES/client.crt&key-file=$DLOCK_TEST_CERTIFICATES/client.key" \
    "$key" -- true
}

@test "TLS: a client certificate that is refused is no outage, however often it is tried" {
  local who url
  for who in expired other-client; do
    url="${DLOCK_TEST_MYSQL_TLS/app@/certified@}&cert-file=$DLOCK_TEST_CERTIFICATES/$who.crt&key-file=$DLOCK_TEST_CERTIFICATES/$who.key"
    for _ in {1..40}; do
      run -77 dlock run -n --if-unavailable run -b "$url" "$key" -- touch ran
      [[ "$output" == *"refused our certificate"* ]]
    done
  done
  run -77 dlock run -n --if-unavailable run -b "${DLOCK_TEST_MYSQL_TLS/app@/certified@}" "$key" -- touch ran
  [ ! -e ran ]
}

@test "TLS: a key that is not that of the certificate is no outage: 78 names both files" {
  run -78 dlock run -n --if-unavailable run -b \
    "${DLOCK_TEST_MYSQL_TLS/app@/certified@}&cert-file=$DLOCK_TEST_CERTIFICATES/client.crt&key-file=$DLOCK_TEST_CERTIFICATES/other-client.key" "$key" -- touch ran
  [[ "$output" == *"cert-file and key-file"* ]]
  [ ! -e ran ]
}

@test "TLS: a wrong CA, a wrong name, no client certificate, a server without TLS: refused with the reason, nothing sent" {
  local port
  port=$(port_of mysql)
  refused "${DLOCK_TEST_MYSQL_TLS/ca.crt/other-ca.crt}" '[Cc]ertificate|TLS'
  refused "${DLOCK_TEST_MYSQL_TLS/127.0.0.1/127.0.0.2}" '[Cc]ertificate|TLS'
  refused "${DLOCK_TEST_MYSQL_TLS/app@/certified@}" '.'
  refused "$DLOCK_TEST_MYSQL_TLS&server-name=elsewhere.example" 'server-name'
  servers=$BATS_TEST_TMPDIR/servers
  start_mysql plain
  dlock setup -b "$(mysql_url plain owner)" >/dev/null
  refused "$(mysql_url plain)?ca-file=$DLOCK_TEST_CERTIFICATES/ca.crt" 'TLS|SSL'
}
