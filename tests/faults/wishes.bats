# SPDX-License-Identifier: Apache-2.0
# --at-least, --once, revoke, --replace and --newest when a server is killed and started again, or cut off, and when processes
# are killed, at each of their steps. Without a server: cli/wishes.bats. What the commands did is judged by their histories
# (verify check). The server of a body is "one".
load ../support/cli
load ../support/faults
load ../support/stores
for kind in "${backends_with_servers[@]}"; do load "../support/$kind"; done

setup() {
  set_world
  script_section
  long=$((5 + 5 * slowness))s # a lease that a server which starts again takes nothing from
  script work <<'SCRIPT'
#!/bin/bash
echo $$ >"$1.began"
until [ -e "$1.end" ]; do sleep 0.1; done
SCRIPT
}
teardown() { end_world; }

# on_each_server BODY: the first of them, without DLOCK_TEST_EVERY_STORE (scripts/check --all).
on_each_server() {
  local restart protocol kind
  for kind in "${backends_with_servers[@]}"; do
    echo "server: $kind"
    restart=restart_$kind key=k
    "begin_with_$kind" one
    "$1"
    kill_server one
    rm -rf -- "$servers/one" a b c h r said history ran ./*.ran ./*.began ./*.end
    [ "${DLOCK_TEST_EVERY_STORE-}" ] || return 0
  done
}
bounce() { kill_server one && "$restart" one; }
kill_both() { kill -KILL "$(pid_of "$1")" "$(keeper_of "$1")"; } # NAME
is_waiting() { has "$1" waiters "$key"; }                     # N

at_least() {
  local both
  start_watched h dlock run -q -t 10s "$key" -- work h
  wait_until filled h.began
  start_watched a dlock run -q --at-least 60s -t 10s "$key" -- work a
  wait_until is_waiting 1
  bounce # while it waits
  touch h.end
  wait_until filled a.began
  bounce # while the command runs
  touch a.end
  [ "$(how_ended a)" = "exit 0" ]
  run -75 dlock run -q -n "$key" -- touch ran
  bounce # while it is kept
  run -75 dlock run -q -n "$key" -- touch ran
  run -0 dlock inspect "$key"
  [[ "$output" == *"status 0"* ]]
  run -0 dlock force-release --yes "$key"
  # dlock, its keeper, both: killed while the server is away.
  local who
  for who in dlock keeper both; do
    echo "$who"
    start_watched b dlock run -q --at-least 60s -t 6s --kill-after 200ms "$key" -- work b
    wait_until filled b.began
    mapfile -t both < <(pid_of b; keeper_of b)
    kill_server one
    case $who in dlock) kill -KILL "${both[0]}" ;; keeper) kill -KILL "${both[1]}" ;; both) kill -KILL "${both[@]}" ;; esac
    [ "$who" = keeper ] || wait_until ended "$(<b.began)"
    "$restart" one
    [ "$who" != keeper ] || touch b.end # a lease of 60 s is long enough for the command
    [ "$(how_ended b)" = "$([ "$who" = keeper ] && echo "exit 0" || echo "signal 9")" ] || [ "$who" = dlock ]
    wait_until ended "$(<b.began)"
    run -75 dlock run -q -n "$key" -- touch ran
    run -0 dlock force-release --yes "$key"
    rm -f b b.began b.end
  done
  [ ! -e ran ]
}
@test "--at-least: servers that come back while it is waited for, runs, is kept, and when processes are killed beside" { on_each_server at_least; }

acquired() {
  local owner taker
  start_watched h dlock run -q -t 10s "$key" -- work h
  wait_until filled h.began
  dlock acquire -q -t 60s --wait 60s "$key" >said 3>&- & taker=$!
  wait_until is_waiting 1
  bounce
  touch h.end
  wait "$taker"
  owner=$(cut -d' ' -f1 said)
  bounce
  run -75 dlock run -q -n "$key" -- touch ran
  run -0 dlock renew --ttl 5m --owner "$owner" "$key"
  bounce
  run -79 dlock release --owner 00000000000000000000000000000000 "$key"
  run -0 dlock release --owner "$owner" "$key"
  run -79 dlock renew --ttl 5m --owner "$owner" "$key"
  run -0 dlock run -n "$key" -- true
  [ ! -e ran ]
}
@test "acquire: servers that come back while it is waited for, is kept, and was renewed" { on_each_server acquired; }

once() {
  start_watched h dlock run -q -t 10s "$key" -- work h
  wait_until filled h.began
  start_watched a dlock run -q --once s -t 10s "$key" -- work a
  wait_until is_waiting 1
  bounce
  touch h.end
  wait_until filled a.began
  bounce
  touch a.end
  [ "$(how_ended a)" = "exit 0" ]
  run -0 dlock run -n --once s "$key" -- touch ran
  bounce
  run -0 dlock run -n --once s "$key" -- touch ran
  [ ! -e ran ]
  # Away at the end of the command, and soon back.
  start_watched b dlock run --once s2 -t 20s "$key" -- work b 2>said
  wait_until filled b.began
  kill_server one
  touch b.end
  nap 300000
  "$restart" one
  [ "$(how_ended b)" = "exit 0" ]
  [ ! -s said ]
  run -0 dlock run -w 20s --once s2 "$key" -- touch ran
  [ ! -e ran ]
  # For longer than it is waited for: not remembered, which is said, and it runs again.
  start_watched c dlock run --once s3 -t 6s --connect-timeout 500ms "$key" -- work c 2>said
  wait_until filled c.began
  kill_server one
  touch c.end
  how_ended c
  grep -q "slot s3 of $key may not be remembered, and may run again" said
  "$restart" one
  run -0 dlock run -w 20s --once s3 "$key" -- touch ran
  [ -e ran ]
}
# bats test_tags=all
@test "--once: servers that come back at each step" { on_each_server once; }

revoked() {
  start_watched a dlock run -q -t 10s --kill-after 3s "$key" -- section --for 60 --stubborn
  wait_until begun 1
  start_watched r dlock revoke -w 60s --connect-timeout "$((5 * slowness))s" "$key"
  wait_until grep -q TERM history
  bounce
  start_watched b dlock run -q -t 10s "$key" -- section
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(how_ended r)" = "exit 0" ]
  [ "$(how_ended b)" = "exit 0" ]
  history check --sections 2
  is_free "$key"
  # The holder's processes are killed beside.
  local who both gone
  for who in dlock keeper both; do
    echo "$who"
    rm -f r a b history
    start_watched a dlock run -q -t "$((4 + 2 * slowness))s" --kill-after "${slowness}s" "$key" -- section --for 60 --stubborn
    wait_until begun 1
    mapfile -t both < <(pid_of a; keeper_of a)
    start_watched r dlock revoke -w 60s --connect-timeout "$((5 * slowness))s" "$key"
    wait_section b -t 6s
    wait_until grep -q TERM history
    case $who in dlock) kill -KILL "${both[0]}" ;; keeper) kill -KILL "${both[1]}" ;; both) kill -KILL "${both[@]}" ;; esac
    bounce
    echo "a: $(how_ended a)"
    [ "$(how_ended r)" = "exit 0" ]
    [ "$(how_ended b)" = "exit 0" ]
    history check --sections 2
    is_free "$key"
  done
}
# bats test_tags=all
@test "revoke: servers that come back, and processes that are killed, while the command ends" { on_each_server revoked; }

replaced() {
  # Of the one that runs, and three that wait to replace it over a restart, the last one runs.
  start_watched a dlock run -q -t "$long" --kill-after "$((2 * slowness))s" "$key" -- section --for 60 --stubborn
  wait_until begun 1
  start_watched b dlock run -q -t 10s --replace "$key" -- section
  wait_until grep -q TERM history
  bounce
  start_watched c dlock run -q -t 10s --replace "$key" -- section
  [ "$(how_ended b)" = "exit 75" ]
  [ "$(how_ended a)" = "exit 79" ]
  [ "$(how_ended c)" = "exit 0" ]
  history check --sections 2
  is_free "$key"
  has 0 waiters "$key"
  # Who asks is killed, its keeper, both: the command ends all the same, and nothing is left in the queue.
  local who both
  for who in dlock keeper both; do
    echo "$who"
    rm -f a b c history
    start_watched a dlock run -q -t "$((4 + 2 * slowness))s" --kill-after "${slowness}s" "$key" -- section --for 60 --stubborn
    wait_until begun 1
    start_watched b dlock run -q -t 3s --replace "$key" -- section
    wait_until grep -q TERM history
    mapfile -t both < <(pid_of b; keeper_of b)
    case $who in dlock) kill -KILL "${both[0]}" ;; keeper) kill -KILL "${both[1]}" ;; both) kill -KILL "${both[@]}" ;; esac
    bounce
    echo "b: $(how_ended b)"
    [ "$(how_ended a)" = "exit 79" ]
    run -0 dlock run -q -w "$((20 * slowness))s" "$key" -- section
    history check --sections 2
    wait_until is_waiting 0
  done
}
# bats test_tags=all
@test "--replace: servers that come back, and processes that are killed, while it waits" { on_each_server replaced; }

newest() {
  local who both
  start_watched a dlock run -q -t "$long" "$key" -- work a
  wait_until filled a.began
  start_watched b dlock run -q -t 10s --newest "$key" -- touch ran
  wait_until is_waiting 1
  bounce
  start_watched c dlock run -q -t 10s --newest "$key" -- touch c.ran
  [ "$(how_ended b)" = "exit 75" ]
  bounce
  touch a.end
  [ "$(how_ended a)" = "exit 0" ]
  [ "$(how_ended c)" = "exit 0" ]
  [ ! -e ran ]
  [ -e c.ran ]
  is_free "$key"
  has 0 waiters "$key"
  for who in dlock keeper both; do
    echo "$who"
    rm -f a b c c.ran a.end a.began
    start_watched a dlock run -q -t "$long" "$key" -- work a
    wait_until filled a.began
    start_watched b dlock run -q -t 3s --newest "$key" -- touch ran
    wait_until is_waiting 1
    mapfile -t both < <(pid_of b; keeper_of b)
    kill_server one
    case $who in dlock) kill -KILL "${both[0]}" ;; keeper) kill -KILL "${both[1]}" ;; both) kill -KILL "${both[@]}" ;; esac
    "$restart" one
    echo "b: $(how_ended b)"
    start_watched c dlock run -q -t 10s --newest "$key" -- touch c.ran
    touch a.end
    [ "$(how_ended c)" = "exit 0" ]
    [ "$(how_ended a)" = "exit 0" ]
    [ ! -e ran ]
    wait_until is_waiting 0
  done
}
# bats test_tags=all
@test "--newest: servers that come back, and processes that are killed, while it waits" { on_each_server newest; }
