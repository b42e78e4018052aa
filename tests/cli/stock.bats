# SPDX-License-Identifier: Apache-2.0
# dlock stock as a user sees it: the local backend, and the same promises on a Redis and a MariaDB of scripts/start-test-servers.
load ../support/cli
load ../support/stock

setup() {
  set_world
  set_stores
}
teardown() {
  drop_from_stores
  end_world
}

levels() { dlock stock show "$phone" --json | jq -c '[.segments[].quantity]'; }

# --- what is kept, and what is printed --------------------------------------------------------------------------------

_create_show() {
  run -0 dlock stock create "$phone" --quantity 10 --segments 3
  [ "$output" = "" ]
  run -0 dlock stock show "$phone" --json
  jq -e '.schema == "dlock.stock/1" and .total == 10 and .reserved == 0' <<<"$output"
  jq -ce '[.segments[].quantity] == [4,3,3]' <<<"$output"
  run -78 dlock stock create "$phone" --quantity 99
  [[ "$output" == *"there is a stock"*"--if-not-exists"* ]]
  run -0 dlock stock create "$phone" --quantity 99 --if-not-exists
  is total 10
  run -0 dlock stock show "$phone"
  [[ "${lines[0]}" == "$phone  10 left, 0 set aside by 0 open takes; created 10,"* ]]
  [ "${#lines[@]}" = 4 ]
  run -0 dlock stock show
  [[ "$output" == *"$phone  10 left"* ]]
}
@test "create spreads, show tells, a second create is 78" { on_each _create_show; }

_take_unprinted() {
  create 9 3
  local to
  for to in '>/dev/full' '> >(exec <&-; touch gone; until [ -e finish ]; do sleep 0.1; done)'; do
    rm -f gone finish
    run bash -c "exec 3$to; until [[ '$to' == */dev/full || -e gone ]]; do sleep 0.1; done
      dlock stock take $phone --qty 2 >&3; status=\$?; touch finish; exit \$status"
    echo "$to: $status $output"
    [ "$status" = 71 ]
    [[ "$output" == *"the 2 of $phone went back, because the answer could not be printed"* ]]
    is total 9
  done
  run -71 bash -c "dlock stock take $phone --id a >/dev/full"
  run -0 dlock stock take "$phone" --id a
  is total 8
  balanced
}
@test "take: what nobody was told of goes back, unless its id asks for it again" { on_each _take_unprinted; }

_take() {
  create 9 3
  run -0 --separate-stderr dlock stock take "$phone" --qty 3 --id a
  [[ "$output" =~ ^[0-2]\ 3$ ]]
  [ "$stderr" = "" ]
  local first=$output
  run -0 --separate-stderr dlock stock take "$phone" --qty 3 --id a
  [ "$output" = "$first" ]
  [[ "$stderr" == *"repeated: request 'a' was served before"* ]]
  run -0 dlock -q stock take "$phone" --qty 3 --id a
  [ "$output" = "$first" ]
  is total 6
  run -78 dlock stock take "$phone" --qty 4 --id a
  run -0 dlock stock take "$phone" --qty 5
  [ "${#lines[@]}" = 2 ] # gathered
  run -80 dlock stock take "$phone" --qty 2
  [[ "$output" == *"2 wanted, 1 left; nothing was taken"* ]]
  is total 1
  run -0 dlock stock take "$phone" --id last --json
  jq -e '.schema == "dlock.stock.take/1" and .id == "last" and .qty == 1 and .repeated == false' <<<"$output"
  jq -e '.parts | length == 1 and .[0].qty == 1' <<<"$output"
  run -0 dlock stock take "$phone" --id last --json
  jq -e .repeated <<<"$output"
  run -80 dlock stock take "$phone"
  balanced
}
@test "take: the parts, the same answer to the same id, 78 for another quantity, 80 when short" { on_each _take; }

_refund_add() {
  create 6 2
  run -0 dlock stock take "$phone" --qty 4 --id a
  run -0 --separate-stderr dlock stock refund "$phone" --id a --qty 1
  [ "$stderr" = "" ]
  run -0 --separate-stderr dlock stock refund "$phone" --id a --qty 1
  [[ "$stderr" == *"repeated: request 'a' was served before"* ]]
  is refunded 1
  run -78 dlock stock refund "$phone" --id a
  run -79 dlock stock take "$phone" --qty 4 --id a
  run -79 --separate-stderr dlock stock refund "$phone" --id early
  [[ "$stderr" == *"request 'early' took nothing"*"--before-take"* ]]
  run -0 --separate-stderr dlock stock refund "$phone" --id early --before-take
  [ "$output" = "" ]
  [[ "$stderr" == *"early took nothing, and a take with that id now fails"* ]]
  run -0 dlock stock refund "$phone" --id early --before-take --json
  jq -e '.repeated and .qty == 0' <<<"$output"
  run -79 dlock stock take "$phone" --id early
  run -0 dlock stock add "$phone" --qty 7 --id truck
  local parts=$output
  run -0 --separate-stderr dlock stock add "$phone" --qty 7 --id truck
  [ "$output" = "$parts" ]
  [[ "$stderr" == *"repeated: request 'truck' was served before"* ]]
  run -0 dlock stock add "$phone" --qty 7 --id truck --json
  jq -e '.repeated and .qty == 7' <<<"$output"
  is total 10
  run -0 dlock stock resize "$phone" --segments 4
  [ "$(levels)" = '[3,3,2,2]' ]
  run -0 dlock stock take "$phone" --qty 3
  run -0 dlock stock rebalance "$phone"
  [ "$(levels | jq 'max - min')" -le 1 ]
  balanced
  run -64 dlock stock drop "$phone"
  run -0 dlock stock drop "$phone" --yes
  run -78 dlock stock show "$phone"
  [[ "$output" == *"there is no stock"*"dlock stock create --quantity N --segments S $phone"* ]]
}
@test "refund, add, resize, rebalance, drop" { on_each _refund_add; }

_refund_parts() {
  create 12 2
  run -0 dlock stock take "$phone" --qty 10 --id a
  run -0 dlock stock refund "$phone" --id a --qty 3 --refund-id r1 --json
  jq -e '.repeated == false' <<<"$output"
  run -0 dlock stock refund "$phone" --id a --qty 3 --refund-id r1 --json
  jq -e .repeated <<<"$output"
  run -0 --separate-stderr dlock stock refund "$phone" --id a --qty 2 --refund-id r2 --json
  jq -e '.schema == "dlock.stock.refund/1" and .id == "a" and .refund_id == "r2" and .qty == 2' <<<"$output"
  is refunded 5
  run -78 dlock stock refund "$phone" --id a --qty 2 --refund-id r1
  [[ "$output" == *"refund 'r1' of request 'a' was for 3"*"--qty 3"* ]]
  run -78 dlock stock refund "$phone" --id a --qty 6 --refund-id r3
  [[ "$output" == *"request 'a' took 10, of which 5 were refunded before"* ]]
  run -0 dlock stock batch "$phone" < <(printf '%s\n' 'refund a 1 r3' 'refund a 1 r3' 'refund a 4 r4')
  is refunded 10
  run -78 dlock stock refund "$phone" --id a --refund-id r5
  [[ "$output" == *"request 'a' took 10, and all of it was refunded before"* ]]
  run -64 dlock stock add "$phone" --qty 1 --refund-id r1
  balanced
}
# bats test_tags=all
@test "refund in parts, each once under an id of its own" { on_each _refund_parts; }

_requests() {
  create 9 2
  run -64 dlock stock show --requests
  run -64 dlock stock show "$phone" --limit 3
  [[ "$output" == *"add --requests"* ]]
  run -0 --separate-stderr dlock stock show "$phone" --requests
  [ "$output" = "" ]
  dlock stock take "$phone" --qty 2 --id anna
  sleep 0.01 # what two stores stamp in milliseconds
  dlock stock run "$phone" --qty 5 --id 'order 77' -- true
  sleep 0.01
  dlock stock refund "$phone" --id anna --qty 1
  run -0 dlock stock show "$phone" --requests
  [ "${#lines[@]}" = 2 ]
  [[ "${lines[0]}" =~ ^20[0-9-]+T[0-9:.Z+-]+\ \ take\ +refunded\ +2,\ 1\ back\ \ anna\ \ [01]:2$ ]]
  [[ "${lines[1]}" =~ \ run\ +sold\ +5\ \ order\ 77\ \ [01]: ]]
  run -0 dlock stock show "$phone" --requests --limit 1 --json
  jq -e --arg name "$phone" '.schema == "dlock.stock.request/1" and .name == $name and .id == "anna"' <<<"$output"
  jq -e '.kind == "take" and .state == "refunded" and .qty == 2 and .refunded == 1 and (.parts | length == 1)' <<<"$output"
  run -78 dlock stock show "$phone-none" --requests
  [[ "$output" == *"there is no stock"* ]]
}
@test "show --requests lists what is remembered, the newest first" { on_each _requests; }

_run_report() {
  create 9 2
  run -0 dlock stock run "$phone" --qty 6 --id a --report report.json -- true
  jq -e '.outcome == "ran" and .id == "a" and .qty == 6 and ([.parts[].qty] | add == 6)' report.json
}
@test "run: its report has the request, its quantity and its parts" { on_one _run_report; }

_json() {
  run -0 dlock stock create "$phone" --quantity 5 --segments 2 --json
  jq -e --arg name "$phone" '. == {schema: "dlock.stock.create/1", name: $name, created: true}' <<<"$output"
  run -0 dlock stock create "$phone" --quantity 5 --if-not-exists --json
  jq -e '.created == false' <<<"$output"
  run -0 dlock stock resize "$phone" --segments 3 --json
  jq -e '.schema == "dlock.stock.resize/1" and .segments == 3' <<<"$output"
  run -0 dlock stock rebalance "$phone" --json
  jq -e --arg name "$phone" '. == {schema: "dlock.stock.rebalance/1", name: $name}' <<<"$output"
  run -0 dlock stock drop "$phone" --yes --json
  jq -e --arg name "$phone" '. == {schema: "dlock.stock.drop/1", name: $name}' <<<"$output"
}
# bats test_tags=all
@test "create, resize, rebalance and drop answer in JSON" { on_each _json; }

@test "show on a terminal has a bar for each segment, and --watch follows until q" {
  create 8 2
  run terminal -- dlock stock show "$phone"
  [[ "$output" == *"0  4  ████"* ]]
  run -0 terminal 'expect:8 left' "run:dlock stock take $phone --qty 3" 'expect:5 left' 'send:q' -- dlock stock show "$phone" --watch --interval 100ms
}

# bats test_tags=all
@test "show --watch without a terminal is a stream of changes" {
  create 8 2
  start bash -c "dlock stock show $phone --watch --json --interval 100ms >stream"
  wait_until lines_in stream 1
  dlock stock take "$phone" --qty 3
  wait_until lines_in stream 2
  [ "$(tail -n 1 stream | jq .total)" = 5 ]
}

# --- run ---------------------------------------------------------------------------------------------------------------

_run() {
  create 10 2
  run -0 --separate-stderr dlock stock run "$phone" --qty 3 --id order-77 -- sh -c 'env | grep ^DLOCK_ | sort'
  [ "$stderr" = "" ]
  grep -qE '^DLOCK_STOCK_PARTS=[01]:3$' <<<"$output"
  grep -qxF DLOCK_STOCK_QTY=3 <<<"$output"
  grep -qxF DLOCK_STOCK_ID=order-77 <<<"$output"
  grep -qE '^DLOCK_TOKEN=[0-9]+$' <<<"$output"
  is total 7
  is taken 3
  run -0 --separate-stderr dlock stock run "$phone" --qty 3 --id order-77 -- touch ran
  [ ! -e ran ]
  [[ "$stderr" == *"order-77"*"nothing was run"* ]]
  run -78 dlock stock run "$phone" --qty 4 --id order-77 -- touch ran
  run -0 dlock stock refund "$phone" --id order-77
  run -79 dlock stock run "$phone" --qty 3 --id order-77 -- touch ran
  [ ! -e ran ]
  balanced
}
@test "run: sold when CMD ends with 0, once per id; CMD knows its parts" { on_each _run; }

_run_fails() {
  create 10 2
  run -7 dlock stock run "$phone" --qty 3 --id a -- sh -c 'exit 7'
  is total 10
  start_watched dying dlock stock run "$phone" --qty 3 --id a -- sh -c 'kill -USR1 $$'
  [ "$(how_ended dying)" = "signal 10" ]
  is total 10
  run -127 dlock stock run "$phone" --id a -- no-such-program
  is total 10
  run -124 dlock stock run "$phone" --qty 3 --id a --max-hold 300ms -- sh -c 'trap "exit 0" TERM; sleep 100'
  is total 10
  run -0 dlock stock run "$phone" --qty 3 --id a -- true # the id is free after a failure
  is total 7
  is open 0
}
# bats test_tags=all
@test "run: any other end of CMD gives its part back, and the id is free again" { on_each _run_fails; }

_run_short() {
  create 2 2
  run -80 dlock stock run "$phone" --qty 3 --report report.json -- touch ran
  [ "$(jq -c '[.outcome, .id == null, .wanted, .left, .qty, .parts]' report.json)" = '["short",false,3,'"$(field total)"',3,[]]' ]
  start_watched slow dlock stock run "$phone" --qty 2 --id slow -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done; exit 1'
  wait_until test -e inside
  run -75 dlock stock take "$phone" -n
  [[ "$output" == *"2 set aside"*"may come back"* ]]
  run -75 dlock stock run "$phone" -n --report report.json -- touch ran
  [ "$(jq -r .outcome report.json)" = busy ]
  run -9 dlock stock run "$phone" -n -E 9 -- touch ran
  run -75 dlock stock take "$phone" -n --qty 2 --id slow # being served
  run -75 dlock stock refund "$phone" --id slow
  start_watched patient dlock -q stock take "$phone"
  wait_until in_state "$(pid_of patient)" S
  touch go
  [ "$(how_ended slow)" = "exit 1" ]
  [ "$(how_ended patient)" = "exit 0" ] # what came back
  [ ! -e ran ]
  is total 1
}
# bats test_tags=all
@test "run: short is 80; while something may come back it waits, and -n is busy" { on_each _run_short; }

_take_tells() {
  create 2 2
  start_watched slow dlock stock run "$phone" --qty 2 --id slow -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done; exit 1'
  wait_until test -e inside
  start_watched patient dlock stock take "$phone" --wait 1m 2>told
  wait_until grep -qE "waiting for $phone, [0-9]+ s of 1 min" told
  touch go
  [ "$(how_ended slow)" = "exit 1" ]
  [ "$(how_ended patient)" = "exit 0" ]
  wait_until grep -q "got $phone after" told
}
@test "take: who waits is told so, and when the wait is over" { on_one _take_tells; }

_killed() {
  create 4 2
  start_watched a dlock stock run "$phone" --qty 3 --id a --ttl 20s -- sh -c 'echo $$ >cmd.pid; exec sleep 60'
  wait_until filled cmd.pid
  is reserved 3
  kill -KILL "$(pid_of a)"
  wait_until is total 4 # long before its 20 s are over
  ended "$(cat cmd.pid)"
  is taken 0
}
@test "run: SIGKILL of dlock ends CMD, and its part comes back" { on_each _killed; }

_keeper_killed() {
  create 4 2
  start_watched a dlock stock run "$phone" --qty 3 --id a --ttl 2s -- sh -c 'echo $$ >cmd.pid; exec sleep 60'
  wait_until filled cmd.pid
  kill -KILL "$(keeper_of a)"
  [ "$(how_ended a)" = "exit 79" ]
  ended "$(cat cmd.pid)"
  wait_until is total 4
  is taken 0
}
@test "run: SIGKILL of the keeper ends CMD with 79 before its time is over, and its part comes back" { on_one _keeper_killed; }

_both_killed() {
  create 4 2
  start_watched a dlock stock run "$phone" --qty 3 --id a --ttl 2s -- sh -c 'echo $$ >cmd.pid; exec sleep 60'
  wait_until filled cmd.pid
  kill -KILL "$(keeper_of a)" "$(pid_of a)"
  wait_until ended "$(cat cmd.pid)"
  wait_until is total 4
  run -0 dlock stock run "$phone" --qty 3 --id a -- true
}
@test "run: SIGKILL of both: the part comes back when its time is over" { on_one _both_killed; }

_keeper_stopped() {
  create 4 2
  start_watched a dlock stock run "$phone" --qty 3 --id a --ttl 2s -- sh -c 'echo $$ >cmd.pid; exec sleep 60'
  wait_until filled cmd.pid
  local keeper
  keeper=$(keeper_of a)
  kill -STOP "$keeper"
  [ "$(how_ended a)" = "exit 79" ]
  wait_until ended "$keeper" # given up, and killed
  wait_until is total 4
  is taken 0
}
# bats test_tags=all
@test "run: a keeper that stands still: CMD is ended, nothing is sold" { on_one _keeper_stopped; }

_renewed() {
  create 4 2
  start_watched a dlock stock run "$phone" --qty 3 --id a --ttl "${slowness}s" -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e inside
  kill -STOP "$(pid_of a)"
  sleep $((2 * slowness + 1)) # longer than the ttl: what is tested is that time does nothing
  is reserved 3
  kill -CONT "$(pid_of a)"
  touch go
  [ "$(how_ended a)" = "exit 0" ]
  is taken 3
}
# bats test_tags=all
@test "run: the reservation is renewed while CMD runs, also while dlock is stopped" { on_one _renewed; }

_dropped() {
  create 4 2
  start_watched a dlock stock run "$phone" --qty 3 --id a --ttl 20s -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e inside
  run -0 dlock stock drop "$phone" --yes
  create 4 2
  touch go
  [ "$(how_ended a)" = "exit 79" ] # CMD ended with 0, and yet it was not sold
  is taken 0
}
# bats test_tags=all
@test "run: what is not its own any more is not sold, whatever CMD says: 79" { on_each _dropped; }

_mode_lock() {
  create 6 2
  local i
  for i in 1 2; do
    start_watched "run$i" dlock stock run "$phone" --mode lock --id "$i" -- sh -c "touch inside$i; until [ -e go ]; do sleep 0.1; done"
    wait_until test -e "inside$i"
  done
  [ "$(dlock stock show "$phone" --json | jq -c '[.segments[].locked_by] | sort')" = '["1","2"]' ]
  run -0 dlock stock show "$phone"
  [[ "$output" == *"1 set aside, locked by 1"* ]]
  run -75 dlock stock run "$phone" --mode lock -n -- touch ran
  [[ "$output" == *"$phone: other commands hold the locks of its segments"*"dlock stock resize"* ]]
  start_watched run3 dlock stock run "$phone" --mode lock --id 3 -- touch third 2>told
  wait_until grep -q "waiting for $phone, 1 s - held by somebody and 1 more: request [12]$" told
  run -0 dlock stock take "$phone" # does not care about locks
  [ ! -e third ]
  touch go
  for i in 1 2 3; do [ "$(how_ended "run$i")" = "exit 0" ]; done
  [ -e third ]
  grep -q "got $phone after" told
  [ ! -e ran ]
  is total 2
  run -0 dlock stock run "$phone" --mode lock --qty 2 -- true # gathered
  run -0 dlock stock show "$phone" --json
  [[ "$output" != *locked_by* ]]
  balanced
}
# bats test_tags=all
@test "run --mode lock: one command a segment, each under its lock; the next one waits" { on_each _mode_lock; }

# --- what cannot be ------------------------------------------------------------------------------------------------------

@test "RedLock has no stock: 78, with the reason" {
  local url=redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3
  run -78 dlock stock take x -b "$url"
  [[ "$output" == *"majority"*"redis://"* ]]
  run -78 dlock stock run x -b "$url" -- touch ran
  [[ "$output" == *"majority"* ]]
  [ ! -e ran ]
}

@test "quantities that are none are refused before anything is asked" {
  local bad
  for bad in 0 -1 1.5 1e3 9007199254740993 '' x; do
    run -64 dlock stock take "$phone" --qty "$bad" -b redis://127.0.0.1:1
    run -64 dlock stock run "$phone" --qty "$bad" -b redis://127.0.0.1:1 -- touch ran
  done
}

@test "inconsistent data is said to be so, and nothing is changed: local" {
  create 4 2
  local db=$locks/stock.db
  /usr/bin/python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute("delete from held_row where row = ?", ("segment/1",)); c.commit()' "$db"
  run -78 dlock stock take "$phone" --qty 4
  [[ "$output" == *"segment 1 is missing; nothing was changed"* ]]
  run -78 dlock stock show "$phone"
  dlock stock create sound --quantity 3
  run -78 --separate-stderr dlock stock show
  [[ "$output" == "sound  3 left"* ]]
  [[ "$stderr" == *"'$phone' is inconsistent"* ]]
  run -78 --separate-stderr dlock stock show --json
  [ "$(jq -r .name <<<"$output")" = sound ]
  dlock stock drop sound --yes
  run -0 dlock stock drop "$phone" --yes
  rm -f "$db"*
  echo 'no database at all, but long enough to be looked into as one ......................................' >"$db"
  chmod 600 "$db"
  run -78 dlock stock take "$phone"
  [[ "$output" == *"not an intact stock database"* ]]
}

@test "inconsistent data is said to be so, and nothing is changed: Redis" {
  [ "${DLOCK_TEST_REDIS-}" ] || skip "no server: scripts/start-test-servers"
  export DLOCK_BACKEND=$DLOCK_TEST_REDIS
  local key="dlock:stock:{$phone}"
  local what
  for what in 'hset KEY segment/1 many' 'hdel KEY segment/1' 'hset KEY segment/0 7\x202\x20-3\x200\x200' 'hset KEY head x'; do
    create 4 2
    # shellcheck disable=SC2086
    printf '%b\n' ${what/KEY/$key} | xargs -d '\n' redis-cli -u "$DLOCK_TEST_REDIS"
    run -78 dlock stock take "$phone" --qty 4
    [[ "$output" == *"is inconsistent"*"nothing was changed"* ]]
    [[ "$output" != *user_script* ]]
    run -0 dlock stock drop "$phone" --yes
  done
  create 4 2
  redis-cli -u "$DLOCK_TEST_REDIS" hset "$key" segment/0 '7 2 0 x 0' segment/1 '7 2 0 x 0'
  run -78 dlock stock batch "$phone" <<<$'take a\ntake b'
  [[ "$output" == *"is inconsistent"*"nothing was changed"* ]]
  run -0 dlock stock drop "$phone" --yes
  redis-cli -u "$DLOCK_TEST_REDIS" set "$key" x
  run -78 dlock stock take "$phone"
  [[ "$output" == *"wrong kind of value"* ]]
  redis-cli -u "$DLOCK_TEST_REDIS" del "$key"
}

@test "a lock directory that is not safe keeps no stock either" {
  chmod 777 "$locks"
  run -78 dlock stock create "$phone" --quantity 1
  [[ "$output" == *"everyone may write"* ]]
  chmod 700 "$locks"
  : >elsewhere
  ln -s "$PWD/elsewhere" "$locks/stock.db"
  run -78 dlock stock create "$phone" --quantity 1
  [[ "$output" == *"symbolic link"* ]]
  [ ! -s elsewhere ]
}

taken_from() { dlock stock show "$1" --json | jq -e '.taken > 0'; }
# bats test_tags=all
@test "a benchmark of stocks that is ended drops its own, and its takers are gone" {
  start_watched end dlock bench stock
  local one=
  named() { one=$(dlock stock show --json | jq -r .name) && [ -n "$one" ]; }
  wait_until named
  wait_until taken_from "$one"
  kill -TERM "$(pid_of end)"
  [ "$(how_ended end)" = "signal 15" ]
  run -0 --separate-stderr dlock stock show
  [[ "$output" == "there is no stock"* ]]
  run ! pgrep -P "$(pid_of end)"
}

# bats test_tags=all
@test "a benchmark of stocks whose takers find the store written to at the end of their time counts what they had" {
  script write-often <<'SCRIPT'
#!/usr/bin/python3
import os, sqlite3, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
database = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
while not os.path.exists("finish"):
    database.execute("BEGIN IMMEDIATE")
    time.sleep(0.3)
    database.execute("ROLLBACK")
    time.sleep(0.01)
SCRIPT
  start write-often "$locks/stock.db"
  run -0 --separate-stderr dlock bench stock --count 40 --json
  touch finish
  run -0 "$BATS_TEST_DIRNAME/../../scripts/stock-chart" <<<"$output"
  [[ "$output" == "<svg "*">local, lock<"*">local, reserve<"*"</svg>" ]]
}

@test "a lock of the same name is another thing: a run inside a sale inside a run of that name enters the outer run" {
  create 5 1
  run -0 timeout 30 dlock run "$phone" -- dlock stock run "$phone" -- dlock run -w 2 "$phone" -- echo inside
  [ "$output" = inside ]
  is total 4
}

@test "a command that failed has sold nothing, also if nobody can be told: its status, and no advice to run it again" {
  create 5 1
  start_watched fails dlock stock run "$phone" --ttl 3s -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done; exit 3' 2>said
  wait_until test -e inside
  started+=("$(keeper_of fails)")
  kill -KILL "$(keeper_of fails)"
  touch go
  [ "$(how_ended fails)" = "exit 3" ]
  cat said
  grep -q 'could not be confirmed' said
  run ! grep -q 'to find out' said
  is_whole() { [ "$(dlock stock show "$phone" --json | jq .total)" = 5 ]; }
  wait_until is_whole
}

@test "who finds the local store written to by others waits as -w says, and ends with 75" {
  create 2 1
  script write-on <<'SCRIPT'
#!/usr/bin/python3
import os, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
database.execute("BEGIN IMMEDIATE")
open("inside", "w").close()
while not os.path.exists("finish"):
    time.sleep(0.01)
database.execute("ROLLBACK")
SCRIPT
  start write-on "$locks/stock.db"
  wait_until test -e inside
  run -75 dlock stock take "$phone" -w 300ms
  [[ "$output" == *"stock.db is busy: other processes write to it all the time"* && "$output" != *"may have been done"* ]]
  run -75 dlock stock take "$phone" -n --connect-timeout 300ms
  run -9 dlock stock run "$phone" -w 300ms -E 9 -- touch ran
  run -75 dlock stock add "$phone" --qty 1 --connect-timeout 300ms
  [[ "$output" == *"stock.db is busy: other processes write to it all the time"* && "$output" != *"may have been done"* ]]
  run -75 dlock stock batch "$phone" -w 300ms <<<$'take a\ntake b'
  [[ "$output" == *"a error busy "*"b error busy "* ]]
  start_watched patient dlock -q stock take "$phone" --connect-timeout 100ms
  wait_until in_state "$(pid_of patient)" S
  touch finish
  [ "$(how_ended patient)" = "exit 0" ]
  is total 1
  [ ! -e ran ]
}

@test "a benchmark of stocks that cannot start its takers is 71, and leaves no stock" {
  local flags_of_fork=0x1200011
  run -71 "${python[@]}" "$support/denying.py" clone 0 "$((flags_of_fork))" EAGAIN dlock bench stock
  [[ "$output" == *"cannot start the benchmark's processes: "*"ulimit -u"* ]]
  run -0 --separate-stderr dlock stock show
  [[ "$output" == "there is no stock"* ]]
}

@test "without its keeper program the local stock is said to be not installed" {
  local alone=$BATS_TEST_TMPDIR/alone/bin
  mkdir -p "$alone"
  cp "$DLOCK" "$alone/dlock"
  run -78 uninstalled "$alone/dlock" stock show
  [[ "$output" == *"not installed"*"apt install dlock"* ]]
  run -0 "$alone/dlock" run k -- true
}
