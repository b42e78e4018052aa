# SPDX-License-Identifier: Apache-2.0
# Every way to reach Redis, with the servers of scripts/start-test-servers: what a user writes, and what is said when the
# server, the certificate or the password is not right.
load ../support/cli

setup() {
  set_world
  need_servers
  key=app:$BATS_TEST_NUMBER
}
teardown() { end_world; }

@test "DLOCK_DEADLINE is when the lease ends: a ttl from now; a local lock inside has none" {
  use "$DLOCK_TEST_REDIS"
  run -0 dlock run --ttl 10m "$key" "$key-2" -- sh -c 'echo $((DLOCK_DEADLINE - $(date +%s)))
    dlock run -b local: inner -- printenv DLOCK_DEADLINE; echo "$DLOCK_KEYS"'
  ((lines[0] > 500 && lines[0] <= 600))
  [ "${output#*$'\n'}" = $'\n'"$key"$'\n'"$key-2" ]
  eval "$(dlock acquire --shell --ttl 1m "$key")"
  ((DLOCK_DEADLINE - $(date +%s) <= 60))
  run -0 dlock release --owner "$DLOCK_OWNER" "$DLOCK_KEY"
}

@test "a lease is shown as one, also to who is refused" {
  use "$DLOCK_TEST_REDIS"
  run -0 dlock acquire --ttl 1m "$key"
  run -75 dlock run -n "$key" -- true
  [[ "$output" == *"$key is held by $(id -un)@$(hostname) (lease, no process) for "* ]]
  run -0 dlock inspect "$key"
  [[ "$output" == *"lease, no process"* ]]
}

@test "force-release frees what it showed: another client's value of any bytes, and a lock-delay" {
  use "$DLOCK_TEST_REDIS"
  local value
  for value in 'a b' '\xff\x00\n\xc3\xbc'; do
    printf %b "$value" | redis-cli -u "$DLOCK_TEST_REDIS" -x set "$key" >/dev/null
    redis-cli -u "$DLOCK_TEST_REDIS" pexpire "$key" 600000 >/dev/null
    run -75 dlock run -n "$key" -- true
    run -0 dlock force-release --yes "$key"
    is_free "$key"
  done
  run -0 dlock acquire --ttl 1m --lock-delay 1m "$key"
  run -0 dlock force-release --yes "$key"
  run -75 dlock run -n "$key" -- true
  [[ "$output" == *"$key has no holder, and its lock-delay keeps others out for "* ]]
  run -0 dlock force-release --yes "$key"
  run -0 dlock run -n "$key" -- true
}

# At its next renewal each would hear of it, too: after 30 s.
@test "readers and holders of permits hear at once of who revokes and of who takes the lock by force" {
  local mode n patience=20
  use "$DLOCK_TEST_REDIS"
  for mode in --shared '--permits 2'; do
    for n in 1 2; do
      # shellcheck disable=SC2086
      start_watched "end$n" dlock run -q $mode --ttl 90s "$key" -- sh -c "touch in$n; exec sleep 100"
      wait_until test -e "in$n"
    done
    run -0 dlock revoke --wait 20s "$key"
    for n in 1 2; do [ "$(how_ended "end$n")" = "exit 79" ]; done
    rm in1
    # shellcheck disable=SC2086
    start_watched end1 dlock run $mode --ttl 90s "$key" -- sh -c 'touch in1; exec sleep 100'
    wait_until test -e in1
    dlock force-release --yes "$key"
    [ "$(how_ended end1)" = "exit 79" ]
    rm -f in* end*
  done
}

in_its_delay() { [[ $(dlock inspect "$key") == *"lease ended, lock-delay runs"* ]]; }
@test "a lease that is over does not begin again in its lock-delay: check and renew are 79" {
  use "$DLOCK_TEST_REDIS"
  local owner token
  read -r owner token < <(dlock acquire --ttl 1s --lock-delay 1m "$key")
  wait_until in_its_delay
  run -79 dlock check "$key" "$token"
  run -79 dlock renew --ttl 1m --owner "$owner" "$key"
  in_its_delay
  run -0 dlock force-release --yes "$key"
}

@test "redis://host:port/db: a database is a key space of its own" {
  use "$DLOCK_TEST_REDIS/3"
  hold_lock "$key"
  run -75 dlock run -q -n "$key" -- true
  run -0 dlock run -b "$DLOCK_TEST_REDIS" -n "$key" -- true
  let_go
}

@test "redis+unix://" {
  use "$DLOCK_TEST_REDIS_UNIX"
  locks_and_excludes "$key"
}

@test "rediss://, and with a client certificate" {
  use "$DLOCK_TEST_REDIS_TLS"
  locks_and_excludes "$key"
  use "$DLOCK_TEST_REDIS_MTLS"
  locks_and_excludes "$key"
}

@test "rediss://localhost: the name is looked up and verified" {
  use "${DLOCK_TEST_REDIS_TLS/127.0.0.1/localhost}"
  run -0 dlock run "$key" -- true
}

@test "redis+cluster://: keys of every master" {
  use "$DLOCK_TEST_CLUSTER"
  local i
  for i in a b c d e f; do run -0 dlock run -n "$key:$i" -- true; done
  locks_and_excludes "$key"
  run -0 dlock run "$key:a" "$key:b" "$key:c" -- true
}

@test "address-map: servers are reached where it says, whatever the URL and the nodes call them" {
  local node=${DLOCK_TEST_CLUSTER##*/}
  local mapped="redis+cluster://nodes.example:1?address-map=nodes.example:1=${node%%,*}"
  use "$mapped,127.0.0.1=localhost"
  locks_and_excludes "$key"
  run -69 dlock run -n -b "$mapped,127.0.0.1=127.0.0.2" "$key" -- touch ran
  [[ "$output" == *"cannot reach 127.0.0.1:"*" (at 127.0.0.2:"*", by address-map): connection refused"* ]]
  run -78 dlock run -b "$mapped,127.0.0.1" "$key" -- touch ran
  [[ "$output" == *"address-map has '127.0.0.1' in it"* ]]
  run -78 dlock run -b "$DLOCK_TEST_REDIS?address-map=a=b" "$key" -- touch ran
  [ ! -e ran ]
}

# bats test_tags=all
@test "a password from DLOCK_PASSWORD and from a file; it is in no command line and no message" {
  use "$DLOCK_TEST_REDIS_AUTH"
  DLOCK_PASSWORD=secret run -0 dlock run "$key" -- sh -c 'ps -C dlock,dlock-redis -o args >ps.out; echo "$DLOCK_STORE"'
  [[ "$output" != *secret* ]]
  grep -q dlock-redis ps.out
  run ! grep -qw secret ps.out
  (umask 077 && echo secret >password)
  run -0 dlock run -b "$DLOCK_TEST_REDIS_AUTH?password-file=$PWD/password" "$key" -- true
}

@test "no password, a wrong one, a user without rights: 77 with the reason, and nothing was run" {
  use "$DLOCK_TEST_REDIS_AUTH"
  run -77 dlock run "$key" -- touch ran
  [[ "$output" == *password* ]]
  DLOCK_PASSWORD=wrong-one run -77 dlock run "$key" -- touch ran
  [[ "$output" != *wrong-one* ]]
  DLOCK_PASSWORD=reader-secret run -77 dlock run -b "${DLOCK_TEST_REDIS_AUTH/\/\////reader@}" "$key" -- touch ran
  [ ! -e ran ]
}

@test "a user without a password is 78, also where the server would let everybody in" {
  run -78 dlock run -b "${DLOCK_TEST_REDIS/\/\////app@}" "$key" -- touch ran
  [[ "$output" == *"there is no password for it"*DLOCK_PASSWORD* ]]
  [ ! -e ran ]
}

# bats test_tags=all
@test "a login for each host of a URL is 64 and never one server instead of three" {
  run -64 dlock run -b redlock://u:p@127.0.0.1:1,u:p@127.0.0.1:2,u:p@127.0.0.1:3 "$key" -- touch ran
  [[ "$output" == *"more than one @"*"before all hosts: redlock://user:password@h1,h2,h3"* ]]
  [[ "$output" != *u:p* ]]
  [ ! -e ran ]
}

@test "a user with rights on app:* only locks there, and elsewhere gets 77" {
  use "${DLOCK_TEST_REDIS_AUTH/\/\////app@}"
  export DLOCK_PASSWORD=app-secret
  locks_and_excludes "$key"
  run -77 dlock run elsewhere -- touch ran
  [ ! -e ran ]
}

@test "TLS: a wrong CA, a wrong name, an expired certificate, no client certificate, a plain port: refused with the reason" {
  local ca=$DLOCK_TEST_CERTIFICATES
  refused "${DLOCK_TEST_REDIS_TLS/ca.crt/other-ca.crt}" certificate
  refused "${DLOCK_TEST_REDIS_TLS%%\?*}" certificate
  refused "$DLOCK_TEST_REDIS_TLS&server-name=elsewhere.example" '[Cc]ertificate|name'
  refused "$DLOCK_TEST_REDIS_EXPIRED" expired
  refused "${DLOCK_TEST_REDIS_MTLS%%&*}" '.'
  refused "${DLOCK_TEST_REDIS_MTLS//client./other-client.}" '.'
  refused "rediss${DLOCK_TEST_REDIS#redis}?ca-file=$ca/ca.crt" 'does not speak TLS'
  local tls=${DLOCK_TEST_REDIS_TLS%%\?*}
  refused "redis${tls#rediss}" 'the server speaks TLS'
}

@test "a Sentinel master that nobody knows is named; a server that is no Sentinel is called one" {
  refused "${DLOCK_TEST_SENTINEL%/main}/mian" mian
  refused "redis+sentinel://${DLOCK_TEST_REDIS#redis://}/main" '[Ss]entinel'
}

@test "doctor, ping, bench and inspect answer for every deployment" {
  local name
  for name in REDIS REDIS_UNIX REDIS_TLS CLUSTER SENTINEL REDLOCK; do
    name=DLOCK_TEST_$name
    use "${!name}"
    run -0 dlock ping
    run -0 --separate-stderr dlock bench --count 5 --json
    jq -e ".alone.lock_unlock.count == 5 and .contended.processes == 4 and .contended.most == 5" <<<"$output"
    run dlock doctor
    [ "$status" = 0 ] || { echo "$name: $output"; false; }
    run -0 dlock inspect --json
  done
}

@test "doctor: a server that has two names in a RedLock URL is said to vote twice, 78" {
  local port=${DLOCK_TEST_REDIS##*:}
  run -78 dlock doctor -b "redlock://127.0.0.1:$port,localhost:$port,127.0.0.1:1"
  [[ "$output" == *"fail  127.0.0.1:$port and localhost:$port are one server, which votes twice"* ]]
}

@test "-v says each step, those of the keeper too, in the form that was asked for; a file gets every line" {
  use "$DLOCK_TEST_REDIS"
  dlock run -v --ttl 1s "$key" -- sleep 0.5 2>said
  cat said
  [ "$(grep -c '' said)" -ge 4 ]
  grep -q "^dlock: $key: granted by redis://.*, token [0-9]*, lease for " said
  grep -q "^dlock: $key: renewed, lease for " said
  grep -q "^dlock: $key: released$" said
  [[ "$(tail -n 1 said)" == "dlock: held $key in "* ]]
  dlock run -v --log-format json "$key" -- true 2>said
  jq -es 'length >= 3 and all(.[]; .level == "verbose" and .schema == "dlock.log/1")' said
  run -0 dlock run "$key" -- true
  [ -z "$output" ]
}
