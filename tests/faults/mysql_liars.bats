# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# A server that is not what it says (tests/support/fake_mysql.py): it wants the password in plain words, or the memory of
# whoever believes it.
load ../support/cli
load ../support/mysql
load ../support/liars

setup() { set_world; }
teardown() { end_world; }

# liar MODE [ARGUMENT]: a fresh one. Then $heard is what clients told it, and DLOCK_BACKEND is where it is.
liar() {
  [ -z "${heard:-}" ] || kill -KILL "$(pid_of_server liar)"
  rm -rf "$servers/liar"
  mkdir -p "$servers/liar"
  "$support/fake_mysql.py" "$servers/liar" "$@" 3>&- </dev/null &
  started+=("$!")
  disown "$!"
  wait_until filled "$servers/liar/port"
  heard=$servers/liar/heard
  use "$(mysql_url liar)"
}
heard_nothing_of_the_password() { ! grep -qa 'hunter22' "$heard"; }

# --- the password ----------------------------------------------------------------------------------------------------

refused_login() { # MODE PLUGIN [URL-PARAMETERS]
  liar "$1" "$2"
  use "$(mysql_url liar)${3:-}"
  DLOCK_PASSWORD=hunter22 run -77 dlock run -n k -- touch ran
  [[ "$output" == *"$2"* && "$output" == *ca-file* ]]
  DLOCK_PASSWORD=hunter22 run -77 dlock inspect k
  [ -s "$heard" ]
  heard_nothing_of_the_password
  [ ! -e ran ]
}

@test "a server without verified TLS that asks for the password in plain words does not get it: 77 names the way it asked" {
  local plugin
  for plugin in mysql_clear_password dialog sha256_password caching_sha2_password auth_gssapi_client; do
    refused_login switch $plugin
    refused_login greet $plugin
    refused_login switch $plugin '?strategy=unique'
    refused_login switch $plugin '?strategy=session'
  done
}

@test "a weak hash of the password is not sent either" {
  refused_login switch mysql_old_password
  refused_login greet mysql_old_password
  liar short
  DLOCK_PASSWORD=hunter22 run -77 dlock run -n k -- touch ran
  [[ "$output" == *mysql_old_password* ]]
}

@test "a server may greet with any of them, as long as it then takes a proof instead" {
  liar begin caching_sha2_password
  DLOCK_PASSWORD=hunter22 run -69 dlock run -n k -- touch ran
  grep -qa SELECT "$heard"
  heard_nothing_of_the_password
}

# As an account does that is known by its socket.
@test "a server that lets in whoever has said something is answered in the way of its greeting; else it is a refusal, 77" {
  local plugin
  for plugin in caching_sha2_password mysql_native_password; do
    liar admit $plugin
    run -69 dlock run -n k -- touch ran
    grep -qa SELECT "$heard"
  done
  liar admit unheard_of
  run -77 dlock run -n --if-unavailable run k -- touch ran
  [[ "$output" == *"refused the login"* ]]
  [ ! -e ran ]
}

@test "with ca-file nothing at all is said to a server without TLS" {
  liar switch mysql_clear_password
  openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -keyout ca.key -out ca.crt 2>/dev/null
  use "$(mysql_url liar)?ca-file=$PWD/ca.crt"
  DLOCK_PASSWORD=hunter22 run -78 dlock run -n k -- touch ran
  heard_nothing_of_the_password
}

@test "a server that asks for the client's files gets none" {
  echo hunter22 >secret
  liar file "$PWD/secret"
  run dlock run -n k -- touch ran
  [ "$status" = 69 ] || [ "$status" = 78 ]
  heard_nothing_of_the_password
  [ ! -e ran ]
}

# --- memory ----------------------------------------------------------------------------------------------------------

little() { # KIB COMMAND...: 69 (78: what was read is no row of dlock's), a reason with the server's name, not more memory than that, and no process afterwards
  meter "${@:2}"
  cat meter said
  [ "$met_status" = 69 ] || [ "$met_status" = 78 ]
  grep -qF "127.0.0.1:$(port_of liar)" said
  ((met_kib < $1 && met_left == 0))
}

# A keeper takes an answer of 1 MiB, a command that lists what there is 16 MiB.
bears() { # MODE [ARGUMENT]
  liar "$@"
  little 65536 dlock run -n --connect-timeout 1s k -- touch ran
  little 262144 dlock inspect k
  [ ! -e ran ]
}

@test "column definitions without end: 69 with a reason, little memory, and no process is left" { bears columns; }
@test "rows without end: the same" { bears rows; }
@test "one row without end: the same" { bears row; }
@test "rows of nothing without end: the same" { bears nulls; }
@test "reports of progress without end: the same" { bears progress; }
@test "results without end: the same" { bears results; }
@test "half an answer: the same" { bears cut; }
@test "an announcement of many columns, and none of them: the same" {
  bears count 4000000
  bears count 4294967295
}
@test "so do keepers of the other strategies, keepers that wait, and stocks" {
  local strategy
  liar rows
  for strategy in session row unique occupy; do
    use "$(mysql_url liar)?strategy=$strategy"
    little 65536 dlock run -w 2 --connect-timeout 1s k -- touch ran
  done
  little 65536 dlock stock show phone
  little 65536 dlock stock run --connect-timeout 1s phone --id 1 -- touch ran
  [ ! -e ran ]
}
