# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# Takes of one process on Redis, one after the other, and what others do to the stock in between: a take is tried blindly,
# and has to have the answer of any other process all the same.
load ../support/cli
load ../support/redis
load ../support/stock

setup() {
  set_world
  start_redis one
}
teardown() { end_world; }

begin() { # [OPTION...]
  coproc BATCH { exec dlock stock batch "$phone" "$@" 2>err; }
  started+=("$BATCH_PID")
}
answer() { # LINE: its answer, less the parts
  local line
  echo "$1" >&"${BATCH[1]}"
  read -r -t "$patience" line <&"${BATCH[0]}"
  sed -E 's/( [0-9]+:[0-9]+)+$//; s/ (busy|conflict|lost|misconfigured|unavailable) .*/ \1/' <<<"$line"
}
says() { # LINE ANSWER
  local said
  said=$(answer "$1")
  echo "$1: $said"
  [ "$said" = "$2" ]
  balanced
}
warm() { # PREFIX: the next take is tried as most are
  local i
  for i in 1 2 3 4; do says "take $1$i" "$1$i ok"; done
}
@test "one by one: each take has the answer of any other process, whatever came in between" {
  use "$(redis_url one)"
  create 60 6
  begin
  warm a
  says 'take b' 'b ok'
  says 'take a1' 'a1 repeated'
  says 'take a1 2' 'a1 error conflict'
  says 'take c 2' 'c ok'
  says 'refund a2' 'a2 ok'
  says 'take a2' 'a2 error lost'
  is taken 7

  warm d
  start_watched run dlock stock run "$phone" --id r -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e inside
  says 'take r' 'r error busy'
  says 'take e' 'e ok'
  touch go
  [ "$(how_ended run)" = "exit 0" ]
  says 'take r' 'r repeated'
  is taken 13

  warm f
  redis_cli one script flush
  says 'take g' 'g ok'
  dlock stock resize "$phone" --segments 2
  warm h
  dlock stock resize "$phone" --segments 9
  warm i
  is taken 26

  dlock stock take "$phone" --qty "$(field total)" --id rest
  says 'take j' 'j short 0 0'
  dlock stock refund "$phone" --id rest
  warm k
  is total 31

  dlock stock drop "$phone" --yes
  create 20 3
  says 'take a1' 'a1 ok'
  warm n
  is taken 5
}

# broken_by FIELD VALUE: the next take says so and changes nothing.
broken_by() {
  local before said
  tries=$((tries + 1))
  warm "before-$tries-"
  before=$(redis_cli one hget "$hash" "$1")
  redis_cli one hset "$hash" "$1" "$2"
  said=$(answer "take with-$tries")
  echo "$1 '$2': $said"
  [ "$said" = "with-$tries error misconfigured" ]
  redis_cli one hset "$hash" "$1" "$before"
  balanced
}

@test "one by one: data that make no sense are said to be so, and nothing is changed" {
  use "$(redis_url one)"
  create 100 1
  begin
  local tries=0 hash="dlock:stock:{$phone}" value
  for value in x '' '5 x 0 0 0' '5 -1 0 0 0' '5 1e1 0 0 0' '5 0x50 0 0 0' '5 50.0 0 0 0' '5 50 0 0' '5 50 0 99007199254740993 0'; do
    broken_by segment/0 "$value"
  done
}

@test "one by one: no memory left, a take is refused, and the same again is served once there is some" {
  use "$(redis_url one)"
  create 20 2
  begin --wait 1s
  warm a
  redis_cli one config set maxmemory 1
  says 'take b' 'b error unavailable'
  redis_cli one config set maxmemory 0
  is taken 4
  run -0 dlock stock batch "$phone" <<<'take b'
  is taken 5
}
