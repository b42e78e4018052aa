# SPDX-License-Identifier: Apache-2.0
# dlock stock batch as a program at its two ends sees it, on the stores of tests/cli/stock.bats.
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
lines() { printf '%s\n' "$@"; }
without_parts() { sed -E 's/( [0-9]+:[0-9]+)+$//'; }

_steps() {
  create 5 1
  lines 'take a' 'take b 4' 'take a' 'take c' 'refund b 1' 'take c' 'add t 2' 'take a 2' 'refund x' 'take x' >in
  run -78 --separate-stderr dlock stock batch "$phone" <in
  diff - <(echo "$output" | sed -E 's/(conflict|lost) .*/\1/') <<'END'
a ok 0:1
b ok 0:4
a repeated 0:1
c short 0 0
b ok 0:1
c ok 0:1
t ok 0:2
a error conflict
x error lost
x ok 0:1
END
  [ -z "$stderr" ]
  is total 1
}
@test "batch: each line has its answer, in their order" { on_each _steps; }

_inputs() {
  create 5 1
  run -0 dlock stock batch "$phone" < <(printf 'take a 2\r\nrefund a\r\n')
  [ "$output" = "$(lines 'a ok 0:2' 'a ok 0:2')" ]
  run -0 dlock stock batch "$phone" < <(lines 'refund a')
  [ "$output" = 'a repeated 0:2' ]
  run -71 timeout "$patience" dlock stock batch "$phone" <.
  [[ "$output" == "dlock: cannot read the requests: Is a directory"* ]]
  run -71 bash -c 'exec timeout "$1" dlock stock batch "$2" <&-' - "$patience" "$phone"
  [[ "$output" == "dlock: cannot read the requests: Bad file descriptor"* ]]
  is total 5
}
# bats test_tags=all
@test "batch: lines may end as on Windows, and what cannot be read is an error" { on_each _inputs; }

_blocks() {
  create 5000 20
  seq -f 'take r%.0f' 3000 >in
  for round in 1 2; do
    dlock stock batch "$phone" <in >"out$round"
    diff <(seq -f r%.0f 3000) <(cut -d ' ' -f 1 "out$round")
  done
  diff <(sed 's/ ok / repeated /' out1) out2
  is taken 3000
}
# bats test_tags=all
@test "batch: many blocks, and the same again" { on_each _blocks; }

_coprocess() {
  create 5 1
  coproc BATCH { exec dlock stock batch "$phone" 2>err; }
  local pid=$BATCH_PID answer from=${BATCH[0]} to=${BATCH[1]}
  echo 'take a' >&"$to"
  read -r -t 20 answer <&"$from"
  [ "$answer" = 'a ok 0:1' ]
  lines 'take b' 'take b' >&"$to"
  read -r -t 20 answer <&"$from"
  read -r -t 20 answer <&"$from"
  [ "$answer" = 'b repeated 0:1' ]
  local worker # a child, where the library of the store may crash
  read -r worker </proc/"$pid"/task/"$pid"/children || true
  worker=${worker:-$pid}
  kill -STOP "$worker"
  wait_until stopped "$worker"
  lines 'take c' 'take d' >&"$to"
  kill -TERM "$pid"
  wait_until hears_of_term "$worker"
  kill -CONT "$worker"
  local status=0
  wait "$pid" || status=$?
  [ "$status" = 75 ]
  [[ $(<err) == *'line 4 and those after it were not started'* ]]
  is taken 2
}
hears_of_term() { grep -qE '^(Shd|Sig)Pnd:.*[4567cdef][0-9a-f]{3}$' /proc/"$1"/status; }
stopped() { [[ $(</proc/"$1"/stat) == *') T '* ]]; }
@test "batch: an answer whenever the input pauses; TERM says what was not started" { on_each _coprocess; }

@test "batch: a line that is no request is answered as such, with its number, and the next one is served" {
  create 5 1
  { lines '' 'sell a' 'take a' && printf 'take %5000s\n' b && printf 'take b\ntake c'; } >in
  run -64 --separate-stderr dlock stock batch "$phone" <in
  [ "${lines[0]}" = '? error invalid line 1: the line is empty' ]
  [ "${lines[1]}" = "? error invalid line 2: unknown step 'sell'" ]
  [ "${lines[2]}" = 'a ok 0:1' ]
  [ "${lines[3]}" = '? error invalid line 4: it is longer than 4096 bytes' ]
  [ "${lines[4]}" = 'b ok 0:1' ]
  [ "${lines[5]}" = 'c ok 0:1' ] # without an end of its line
  is taken 3
}

@test "batch --json: answers are objects" {
  create 5 1
  lines 'take a 2' 'take c 9' 'take a 3' '{"step":"take"}' >in
  run -78 --separate-stderr dlock stock batch "$phone" --json <in
  jq -se 'length == 4 and all(.schema == "dlock.stock.batch/1")
    and (.[0] | .id == "a" and .step == "take" and .answer == "ok" and .qty == 2 and .parts == [{segment: 0, qty: 2}])
    and (.[1] | .answer == "short" and .available == 3 and .reserved == 0)
    and (.[2] | .answer == "error" and .error == "conflict")
    and (.[3] | .id == null and .line == 4 and .error == "invalid")' <<<"$output"
}

@test "batch: a reader that is gone ends it with 71, and what was served is found again" {
  create 100000 1
  seq -f 'take r%.0f' 50000 >in
  { dlock stock batch "$phone" <in 2>err || echo $? >status; } | head -n 3
  [ "$(<status)" = 71 ]
  [[ $(<err) == *'cannot write the answers'*'were not started'* ]]
  dlock stock batch "$phone" <in >out
  [ "$(grep -c ' repeated ' out)" -ge 3 ]
  is taken 50000
}

# bats test_tags=all
@test "batch: a reader that hangs up its socket ends it while the input pauses" {
  create 5 1
  mkfifo in
  exec {input}<>in
  echo 'take a' >&"$input"
  run -71 --separate-stderr "${python[@]}" "$support/hang_up.py" dlock stock batch "$phone" <in
  exec {input}>&-
  [ "$output" = 'a ok 0:1' ]
  [[ $stderr == *'cannot write the answers'* ]]
}

@test "batch: what is wrong before the first line" {
  run -78 dlock stock batch "$phone" </dev/null
  [[ $output == *"there is no stock '$phone'"* ]]
  create 5 1
  run -0 dlock stock batch "$phone" </dev/null
  [ -z "$output" ]
  run -64 dlock stock batch "$phone" --window 7
  run -64 dlock stock batch "$phone" --reserve 1m
  run -64 dlock stock batch "$phone" --qty 2
  run -69 dlock stock batch "$phone" -b redis://127.0.0.1:1 --wait 200ms </dev/null
  run -69 timeout 5 dlock stock batch "$phone" -b redis://127.0.0.1:1 --wait 0 --connect-timeout 200ms </dev/null
}
