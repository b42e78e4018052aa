# SPDX-License-Identifier: Apache-2.0
# dlock inspect --watch on a terminal of 80x24.
load ../support/cli
load ../support/redis

setup() {
  set_world
  export TZ=UTC LC_ALL=C.UTF-8
}
teardown() { end_world; }

# What came out of the terminal is frames of at most 24 lines of 79 columns, and ends with the terminal as it was.
fits_the_screen() { # FILE
  "${python[@]}" -c '
import re, sys
shown = open(sys.argv[1], "rb").read()
assert shown.rstrip().endswith(b"\x1b[?25h\x1b[?1049l"), shown[-80:]
frames = shown.decode().split("\x1b[H")[1:]
assert len(frames) > 1
for frame in frames:
    lines = re.sub("\x1b\\[[0-9?]*[a-zA-Z]|\r", "", frame).rstrip("\n").split("\n")
    assert len(lines) <= 24 and max(map(len, lines)) < 80, frame
' "$1"
}

@test "the live view shows what inspect does, again and again, cut to the screen, and q quits" {
  hold_lock -m 'release 2.4' deploy
  start dlock run -q deploy -- true
  wait_until has 1 waiters deploy
  for i in {1..30}; do dlock acquire --ttl 10m "job/$i" >/dev/null; done
  run -0 terminal 'expect:q quits' 'expect:deploy' 'run:dlock acquire --ttl 10m another' 'expect:another' 'send:q' \
    -- dlock inspect --watch --interval 100ms
  printf '%s\n' "$output" >shown
  fits_the_screen shown
  let_go
}

@test "without colour and Unicode there is none, and a resized terminal is filled" {
  hold_lock -m "$(printf 'r%.0s' {1..90})" deploy
  for i in {1..4}; do dlock acquire --ttl 10m "job/$i" >/dev/null; done
  LC_ALL=C NO_COLOR=1 run -0 terminal 'expect:deploy' 'expect:job/4' 'run:touch resize' 'expect:10 lines' 'expect:q quits' 'send:q' \
    -- sh -c '(until [ -e resize ]; do sleep 0.1; done; stty rows 10 </dev/tty; echo 10 lines) & dlock inspect --watch --interval 10s; wait'
  printf '%s\n' "$output" >shown
  run ! grep -qP '\x1b\[[0-9]*m|[\x80-\xff]' shown
}

@test "a store that stops answering is shown, and the view goes on" {
  start_redis one
  use "$(redis_url one)"
  run -0 terminal 'expect:no lock is held' "run:kill -KILL $(pid_of_redis one)" 'expect:cannot reach' 'send:q' \
    -- dlock inspect --watch --interval 100ms
}
