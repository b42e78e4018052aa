# SPDX-License-Identifier: Apache-2.0
# dlock inspect --watch on a terminal of 80x24.
load ../support/cli

setup() {
  set_world
  export TZ=UTC LC_ALL=C.UTF-8 DLOCK_EVENTS=$PWD/events
}
teardown() { end_world; }

# What came out of the terminal is frames of at most 24 lines of 79 columns, and ends with the terminal as it was.
fits_the_screen() { # FILE
  "${python[@]}" -c '
import re, sys
shown = open(sys.argv[1], "rb").read()
assert shown.rstrip().endswith(b"\x1b[?25h\x1b[?1049l"), shown[-80:]
frames = shown.decode().split("\x1b[H")[1:]
assert len(frames) > 2
for frame in frames:
    lines = re.sub("\x1b\\[[0-9?]*[a-zA-Z]|\r", "", frame).rstrip("\n").split("\n")
    assert len(lines) <= 24 and max(map(len, lines)) < 80, frame
' "$1"
}

@test "the list: what / filters, one lock with its queue and events, and q back to it and out" {
  dlock run -m 'the first' deploy -- true
  hold_lock -m 'release 2.4' deploy
  start dlock run -q deploy -- true
  wait_until has 1 waiters deploy
  for i in {1..30}; do dlock acquire --ttl 10m "job/$i" >/dev/null; done
  # 31 locks, of which 21 fit; the last one is far down.
  run -0 terminal 'expect:31 locks' 'expect:> deploy .* 1 +release 2.4' 'send:\x1b[F' 'expect:from 11' 'expect:> job/9' \
    'send:/LOY' 'expect:1 lock of 31 with .LOY' 'expect:> deploy' 'send:\n\n' \
    'expect:deploy  held, exclusive' 'expect:waits 1' 'expect:the newest first' 'expect:granted to .*' 'expect:released by' \
    'send:q' 'expect:1 lock of 31' 'send:\x1b' 'expect:31 locks' 'send:q' -- dlock inspect --watch --interval 100ms
  printf '%s\n' "$output" >shown
  fits_the_screen shown
  let_go
}

@test "f frees a lock once its key is typed, and nothing for any other answer; the command gets to know" {
  script_victims
  start_watched end dlock run -q deploy/prod -- note cmd
  wait_until is_held deploy/prod
  run -0 terminal 'expect:> deploy/prod' 'send:f' 'expect:type the key to free it: _' 'send:y\n' \
    "expect:'y' is not deploy/prod: nothing was freed" 'send:f' 'expect:free it: _' 'send:\x1b' 'expect:nothing was freed' \
    'send:f' 'expect:free it: _' 'send:deploy/prod\n' 'expect:deploy/prod is free now; it was held by' \
    'expect:the old holder [^\n]*: pid' 'send:\x03' -- dlock inspect --watch --interval 100ms
  [ "$(how_ended end)" = "exit 79" ]
  [ "$(jq -r 'select(.event == "force-released") | .key' "$DLOCK_EVENTS")" = deploy/prod ]
}

@test "without colour and Unicode there is none, and a resized terminal is filled" {
  hold_lock -m "$(printf 'r%.0s' {1..90})" 'köln'
  LC_ALL=C NO_COLOR=1 run -0 terminal 'expect:> k\?ln .*rrr~' 'send:\n' 'expect:k\?ln  held' 'send:q' 'expect:> k' \
    'run:touch resize' 'expect:10 lines' 'expect:Enter one lock' 'send:q' -- sh -c \
    '(until [ -e resize ]; do sleep 0.1; done; stty rows 10 </dev/tty; echo 10 lines) & dlock inspect --watch --interval 100ms; wait'
  printf '%s\n' "$output" >shown
  run ! grep -qP '\x1b\[[0-9]*m|[\x80-\xff]' shown
}

@test "one key on a server is shown by itself, and freed there" {
  need_servers
  use "$DLOCK_TEST_REDIS"
  local key=watch:$BATS_TEST_NUMBER
  hold_lock "$key"
  run -0 terminal "expect:$key  held, exclusive  redis" 'send:f' 'expect:free it: _' "send:$key\n" "expect:$key is free now" \
    'send:q' -- dlock inspect --watch --interval 100ms "$key"
  is_free "$key"
}
