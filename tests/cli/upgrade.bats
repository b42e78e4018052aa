# SPDX-License-Identifier: Apache-2.0
# Upgrading while locks are held: each store has the hold of an older dlock, written here as that one wrote it, and a dlock
# of today shows it, waits for it, frees it by force, and has the lock when its lease is over. (The other way round: those
# who know less than we write read what they know; the records' unit tests.)
load ../support/cli
load ../support/mysql

setup() {
  set_world
  key=upgrade-$$-$BATS_TEST_NUMBER
  old_owner=0123456789abcdef0123456789abcdef
}
teardown() { end_world; }
now_us() { echo $(($(date +%s%N) / 1000)); }

# With `old_hold MS`, which records the hold and sets $old_token, and `old_end`, which ends what does not end with its lease.
is_understood() { # USER
  old_hold 600000
  run -0 dlock inspect --json "$key"
  echo "$output"
  [ "$(jq -c '.holders[] | [.host, .user, .reason, .token]' <<<"$output")" = "[\"old-host\",\"$1\",\"release 1.9\",$old_token]" ]
  run -75 dlock run -n "$key" -- touch ran
  [[ "$output" == *"$key is held by $1@old-host (pid "*"release 1.9"* ]]
  start_watched waiter dlock run -q "$key" -- touch waited
  wait_until has 1 waiters "$key"
  [ ! -e waited ]
  run -0 dlock force-release --yes --token "$old_token" "$key"
  [ "$(how_ended waiter)" = "exit 0" ]
  [ -e waited ]
  [ ! -e ran ]
  old_hold $((1000 * slowness))
  run -75 dlock run -n "$key" -- touch ran
  start_watched successor dlock run -q "$key" -- sh -c 'echo "$DLOCK_TOKEN" >token'
  old_end
  [ "$(how_ended successor)" = "exit 0" ]
  [ "$(cat token)" -gt "$old_token" ]
  [ ! -e ran ]
}

@test "this machine" {
  dlock run "$key" -- true
  old_hold() {
    rm -f old old.token
    mkfifo old
    "${python[@]}" "$support/old_local_holder.py" "$locks"/*.lock 'release 1.9' <old >old.token 3>&- &
    started+=("$!")
    exec {old_stdin}>old
    wait_until filled old.token
    old_token=$(cat old.token)
  }
  old_end() { exec {old_stdin}>&-; }
  is_understood "$(id -un)"
}

@test "Redis" {
  need_servers
  use "$DLOCK_TEST_REDIS"
  old_hold() {
    old_token=$(now_us)
    local at="dlock:{$key}"
    redis-cli -p "${DLOCK_TEST_REDIS##*:}" >/dev/null <<REDIS
SET $key $old_owner PX $1
DEL $at:holders
HSET $at:holders $old_owner "$old_token ${old_token%???} 0 $old_owner old-host\\x1f4711\\x1fdeploy\\x1frelease 1.9"
PEXPIRE $at:holders $1
SET $at:fence $old_token
REDIS
  }
  old_end() { :; }
  is_understood deploy
}

@test "MySQL" {
  need_servers
  use "$DLOCK_TEST_MYSQL"
  servers=$DLOCK_TEST_SERVERS
  old_hold() {
    old_token=$(now_us)
    local until=$((old_token + $1 * 1000)) who=$'old-host\x1f4711\x1fdeploy\x1frelease 1.9'
    mariadb --no-defaults -h 127.0.0.1 -P "$(port_of mysql)" -u app locks <<SQL
REPLACE dlock_data (space, name, id, version, text)
  VALUES ('lock', '$key', 'lock', $old_token, 'x 0\nh $old_owner $old_token $old_token $until 0 $who\n');
SQL
  }
  old_end() { :; }
  is_understood deploy
}
