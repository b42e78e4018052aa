# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# What excludes what on one key: each cell of the table in dlock-redis(7), and its examples with Redisson.
load ../support/cli
load ../support/redis
load ../support/peers

setup() {
  set_world_of_peers
  server=$DLOCK_BACKEND page=$root/man/dlock-redis.7.scd
}
teardown() { end_world; }

# "HOLDER ASKER CELL", of the page's table.
cells_of_page() {
  sed -n '/^## What excludes what/,/^# WAITING/p' "$page" | sed -n 's/^\(|\|:<\|\[\[\) *//p' | tr -d '*' | tr ' ' _ | awk '
    NR <= 6 { asker[NR] = $1; next }
    (NR - 1) % 6 == 0 { holder = $1; next }
    { print holder, asker[(NR - 1) % 6 + 1], $1 }'
}

# The word of the page for who has, or wants, a lock.
family() {
  case $1 in
    native | redis-py | redlock | redsync) echo token ;;
    lock | fenced | fair) echo hash ;;
    *) echo "$1" ;;
  esac
}

@test "each cell of the table is what happens" {
  python_peer peer <<'CODE'
def take(kind):
    """excluded, WRONGTYPE (the client's error), or taken"""
    if kind == "redis-py":
        return "taken" if server.lock("k", timeout=60).acquire(blocking=False) else "excluded"
    if kind == "redsync":
        return "taken" if server.set("k", "theirs", nx=True, px=60000) else "excluded"
    if kind == "redlock":
        script = "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000) return 1"
        return "taken" if server.eval(script, 1, "k", "theirs") else "excluded"
    lock = Redisson(server, kind, "k", lease=60000)
    if lock.acquire(): return "taken"
    return "WRONGTYPE" if lock.refused else "excluded"
def hold(kind):
    server.flushall()
    if take(kind) != "taken": sys.exit(kind + " is not free")
tokens, kinds = ["redis-py", "redlock", "redsync"], ["lock", "fenced", "fair", "read", "write"]
if sys.argv[1] == "hold": hold(sys.argv[2])
for holder in {"hold": [], "each": tokens + kinds, "native": ["native"]}[sys.argv[1]]:
    for asker in tokens + kinds:
        if holder != "native": hold(holder)
        said = take(asker)
        say(holder, asker, said if said != "taken" else "shared" if holder == asker == "read" else "not_seen")
CODE
  peer each >seen
  redis_cli one flushall
  dlock run k -- peer native >>seen
  local holder asker said words status_of
  for holder in redis-py redlock redsync lock fenced fair read write; do
    peer hold $holder
    redis_cli one --raw dump k >before
    for asker in native lock fenced fair read write; do
      case $asker in
        native) use "$server" ;;
        read) use "$server?layout=redisson&kind=rw" ;;
        write) use "$server?layout=redisson&kind=rw" ;;
        *) use "$server?layout=redisson&kind=$asker" ;;
      esac
      words=()
      [ $asker != read ] || words=(-s)
      status_of=0
      said=$(dlock run -n "${words[@]}" k -- echo ran 2>&1) || status_of=$?
      echo "$holder, dlock as $asker: $status_of $said"
      [[ "$said" != *WRONGTYPE* && "$said" != *attempt* ]]
      if [ "$holder $asker" = "read read" ]; then
        [ "$status_of $said" = "0 ran" ]
      else
        [[ $status_of == 7[58] && "$said" != ran ]]
        echo "$holder dlock excluded" >>seen
      fi
      redis_cli one --raw dump k | cmp - before
    done
  done
  while read -r holder asker said; do
    echo "$(family "$holder") $(family "$asker") $said"
  done <seen | LC_ALL=C sort -u >cells
  cells_of_page | LC_ALL=C sort -u | diff - cells
}

@test "the page's examples: a script waits for a service's lock, a deploy for those that read" {
  python_peer service <<'CODE'
lock = Redisson(server, sys.argv[1], sys.argv[2])
lock.acquire() or sys.exit("not free")
act("BEGIN -")
while not os.path.exists("go"): time.sleep(0.01)
act("END")
lock.release()
CODE
  script nightly-report <<'CODE'
#!/bin/sh
exec section
CODE
  script deploy.sh <<'CODE'
#!/bin/sh
exec section
CODE
  ln -s "$(command -v deploy.sh)" "$(command -v nightly-report)" .
  local kind key line
  while read -r kind key; do
    rm -f history go
    line=$(grep "^dlock run -b '.*layout=redisson.* $key -- " "$page" | sed "s#redis://locks.example#$server#")
    echo "$line"
    start service "$kind" "$key"
    wait_until begun 1
    start_watched "$kind" sh -c "$line"
    wait_until hears "$key"
    touch go
    [ "$(how_ended "$kind")" = "exit 0" ]
    history check --sections 2
  done <<'EXAMPLES'
lock order-import
read catalog
EXAMPLES
}
hears() { [ "$(redis_cli one pubsub channels "redisson_*{$1}*" | wc -l)" -gt 0 ]; }
