# SPDX-License-Identifier: Apache-2.0
# The EXAMPLES of every man page can be typed as they stand: commands under the lock are stubs, hosts the test servers.
load ../support/cli
load ../support/redis
load ../support/mysql
load helper

setup() {
  set_world
  export calls=$BATS_TEST_TMPDIR/calls
  : >"$calls"
  real=
  here /usr/local/bin/ ''
}
teardown() { end_world; }

# What a page calls its hosts, files and durations stands for what they are here: `real` is a script for sed.
here() { real+="s|$1|${2//&/\\&}|;"; } # PATTERN TEXT

# The N-th block under EXAMPLES of a page, as a reader sees it, with its hosts and folders replaced by ours.
example() { rendered_example "$1" "$2" EXAMPLES | sed "$real"; } # PAGE N
examples_of() { sed -n '/^# EXAMPLES$/,/^# [^E]/p' "$root/man/$1.scd" | grep -c '^```' | awk '{ print $1 / 2 }'; } # PAGE: how many

# Types one example: a configuration is saved and checked, a line of a crontab run as cron would, all else is the shell's.
# What an example exports holds for those behind it.
typed() { # PAGE N
  local text
  text=$(example "$@")
  case $text in
    'default-backend = '*)
      mkdir -p "$HOME/.config/dlock"
      echo "$text" >"$HOME/.config/dlock/config.toml"
      unset DLOCK_BACKEND
      dlock config check --strict >/dev/null
      ;;
    '*/'*) sh -ec "${text#* \* \* \* \* }" ;;
    *)
      eval "$(grep '^export ' <<<"$text")"
      bash -ec "$text"
      ;;
  esac || { echo "$1, example $2: exit status $?: $text" >&2; return 1; }
}

# All of them, but for the last SKIPPED.
type_all() { # PAGE [SKIPPED]
  local n last=$(($(examples_of "$1") - ${2-0}))
  [ "$last" -ge 1 ] || return
  for ((n = 1; n <= last; n++)); do typed "$1" "$n" || return; done
}

@test "dlock(1)" {
  start_redis one
  here redis://locks.example "$(redis_url one)"
  recorded {sync-orders,deploy.sh,run-tests,report,rebuild,step-one,step-two,serve-preview.sh} "$BATS_TEST_TMPDIR"/bin/sync-orders
  export GIT_SHA=8f3c2d1
  type_all dlock.1 1
  [ "$(cat "$calls")" = "sync-orders under sync
deploy.sh --all under deploy/prod
deploy.sh --all under deploy/prod
run-tests --database db1 under test-db
report under table
rebuild under table
step-one under deploy
step-two under deploy
deploy.sh --all under deploy/prod
serve-preview.sh under preview/main" ]
  # The last one is about a lock that somebody has.
  start_watched holder dlock run -q deploy/prod -- sleep 100
  wait_until is_held deploy/prod
  here 'dlock force-release' 'dlock force-release --yes'
  run -0 typed dlock.1 "$(examples_of dlock.1)"
  [[ "$output" == *"deploy/prod is already free"* ]] # who held it has obeyed
  [ "$(how_ended holder)" = "exit 79" ]
}

@test "dlock(7)" {
  recorded build publish migrate switch-over
  type_all dlock.7
  [ "$(cat "$calls")" = "build under deploy/prod
publish under deploy/prod
migrate under migration
switch-over under migration" ]
}

@test "dlock-json(5)" {
  start_watched holder dlock run -q deploy/prod -- sleep 100
  wait_until is_held deploy/prod
  run -0 type_all dlock-json.5
  [ "$output" = "$(uname -n)
0" ]
}

@test "dlock.toml(5)" {
  mkdir -m 700 build-locks
  here /srv/build/locks "$PWD/build-locks"
  type_all dlock.toml.5 1
  [ "$(dlock run image -- sh -c 'echo "$DLOCK_STORE"')" = "local:$PWD/build-locks" ]
  run -0 typed dlock.toml.5 2
  [[ "$output" == *1h* && "$output" == *'release by hand'* && "$output" == *10m* ]]
}

# bats test_tags=all
@test "dlock-stock(1)" {
  recorded charge-card
  run -0 type_all dlock-stock.1
  [ "${lines[-1]}" = 499 ]
  [ "$(cat "$calls")" = "charge-card under tickets" ]
}

@test "dlock-redis(7)" {
  need_servers
  start_redis one
  here redis://locks.example "$(redis_url one)"
  here redis+sentinel://s1,s2,s3/main "$DLOCK_TEST_SENTINEL"
  here '&password-file=[^"]*' '' # the test servers want none
  recorded deploy.sh nightly-report
  type_all dlock-redis.7
  [ "$(cat "$calls")" = "deploy.sh under deploy/prod
nightly-report under order-import
deploy.sh under catalog" ]
}

# bats test_tags=all
@test "dlock-mysql(7)" {
  need_servers
  start_mysql one
  local url
  url=$(mysql_url one owner)
  for base in locks shop; do dlock setup -b "${url%/*}/$base"; done
  sql one 'CREATE TABLE shop.orders (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO shop.orders VALUES (42)'
  (umask 077 && echo secret >password)
  here mysql://app@db.example "${url%/*}"
  here mysql://app@db1,db2/locks "${DLOCK_TEST_MYSQL/app@/guarded@}" # only this one has TLS
  here /etc/ssl/db-ca.pem "$DLOCK_TEST_CERTIFICATES/ca.crt"
  here /etc/dlock/mysql.password "$PWD/password"
  recorded deploy.sh export-order
  type_all dlock-mysql.7
  [ "$(cat "$calls")" = "deploy.sh under deploy/prod
export-order 42 under order-42" ]
}

# bats test_tags=all
@test "dlock-postgres(7)" {
  need_servers
  (umask 077 && echo secret >password)
  here postgres://app@db.example/locks "$DLOCK_TEST_POSTGRES"
  here postgres://app@db1,db2/locks "${DLOCK_TEST_POSTGRES/app@/guarded@}"
  here /etc/ssl/db-ca.pem "$DLOCK_TEST_CERTIFICATES/ca.crt"
  here /etc/dlock/postgres.password "$PWD/password"
  recorded deploy.sh
  type_all dlock-postgres.7
  [ "$(cat "$calls")" = "deploy.sh under deploy/prod" ]
}

@test "dlock-zookeeper(7)" {
  need_servers
  here zk://zk1,zk2,zk3 "$DLOCK_TEST_ZK3/man-pages"
  recorded reindex.sh
  type_all dlock-zookeeper.7
  [ "$(cat "$calls")" = "reindex.sh under reindex" ]
}

@test "every man page has examples, and they are typed here" {
  for page in "$root"/man/*.scd; do
    page=$(basename "$page" .scd)
    [ "$(examples_of "$page")" -ge 1 ] || { echo "$page has no EXAMPLES"; return 1; }
    grep -q "type_all $page" "$BATS_TEST_FILENAME" || { echo "nobody types the examples of $page"; return 1; }
  done
}
