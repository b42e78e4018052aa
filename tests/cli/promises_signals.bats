# SPDX-License-Identifier: Apache-2.0
# `dlock run` and signals, from kill(2) and from a terminal: promises 6, 7 and 8.
load ../support/cli
load ../support/stores

setup() {
  set_world
  # Writes each signal it gets into `got` and goes on until there is a file `finish`; then its status is 9. (bash may miss
  # one that comes while it runs the trap of another.)
  script note-signals <<'SCRIPT'
#!/usr/bin/python3 -SEB
import os, signal, sys, time
def write(path, text, how="w"):
    with open(path, how) as file:
        file.write(text + "\n")
for name in "HUP INT QUIT TERM USR1 USR2 WINCH CONT".split():
    signal.signal(getattr(signal, "SIG" + name), lambda number, frame, name=name: write("got", name, "a"))
signal.signal(signal.SIGALRM, lambda number, frame: os._exit(9))
write("noting.pid", str(os.getpid()))
write("ready", "")
while not os.path.exists("finish"):
    time.sleep(0.02)
sys.exit(9)
SCRIPT
}
teardown() { end_world; }

@test "6.1 HUP, INT, QUIT and TERM withdraw a waiter from the queue, and dlock dies of that signal" {
  hold_lock k
  local signal
  for signal in HUP INT QUIT TERM; do start_watched "$signal" dlock run -q k -- touch ran; done
  wait_until has 4 waiters k
  for signal in HUP INT QUIT TERM; do kill -s "$signal" "$(cat $signal.pid)"; done
  for signal in HUP INT QUIT TERM; do [ "$(how_ended $signal)" = "signal $(kill -l $signal)" ]; done
  [ "$(count waiters k)" = 0 ]
  let_go
  run -0 dlock run -n k -- true
  [ ! -e ran ]
}

@test "6.2 a waiter withdraws within a second" {
  hold_lock k
  start_watched end dlock run -q k -- true
  wait_until has 1 waiters k
  local before after
  before=$(date +%s%N)
  kill -TERM "$(cat end.pid)"
  [ "$(how_ended end)" = "signal 15" ]
  after=$(date +%s%N)
  [ $(((after - before) / 1000000)) -lt $((1000 * slowness)) ]
}

# bats test_tags=all
@test "6.3 a waiter that withdraws lets those behind it pass" {
  hold_lock k
  start_watched first dlock run -q k -- true
  wait_until has 1 waiters k
  start_watched second dlock run -q k -- true
  wait_until has 2 waiters k
  kill -INT "$(cat first.pid)"
  how_ended first
  let_go
  [ "$(how_ended second)" = "exit 0" ]
}

@test "6.4 an ignored signal does not end the wait (nohup)" {
  hold_lock k
  start_watched end env --ignore-signal=HUP dlock run -q k -- true
  wait_until has 1 waiters k
  kill -HUP "$(cat end.pid)"
  let_go
  [ "$(how_ended end)" = "exit 0" ]
}

@test "6.5 hold, acquire and wait die of the signal in the queue too" {
  hold_lock k
  start_watched hold dlock hold -q k
  start_watched acquire dlock acquire -q --ttl 1m k
  wait_until has 2 waiters k
  start_watched wait dlock wait -q k
  local command
  for command in hold acquire wait; do
    kill -TERM "$(cat $command.pid)"
    [ "$(how_ended $command)" = "signal 15" ]
  done
  [ "$(count waiters k)" = 0 ]
}

@test "7.1 signals sent to dlock by kill(2) reach CMD" {
  start_watched end dlock run k -- note-signals
  wait_until filled ready
  local n=0 signal
  for signal in HUP INT QUIT TERM USR1 USR2 WINCH; do
    kill -s "$signal" "$(cat end.pid)"
    n=$((n + 1))
    wait_until lines_in got $n
  done
  [ "$(tr '\n' ' ' <got)" = "HUP INT QUIT TERM USR1 USR2 WINCH " ]
  touch finish
  [ "$(how_ended end)" = "exit 9" ]
}

@test "7.2 a second TERM is forwarded again" {
  start_watched stop dlock run k -- note-signals
  wait_until filled ready
  kill -TERM "$(cat stop.pid)"
  wait_until lines_in got 1
  kill -TERM "$(cat stop.pid)"
  wait_until lines_in got 2
  touch finish
  [ "$(how_ended stop)" = "exit 9" ]
}

@test "7.3 dlock does not end before CMD is reaped, and the lock is held as long" {
  script slow <<'SCRIPT'
#!/bin/bash
trap '' INT # between two commands a shell dies of it at once
trap 'touch cleaning; until [ -e go ]; do sleep 0.1; done; echo cleaned >cleaned; exit 9' TERM
echo $$ >slow.pid; touch ready
while :; do sleep 0.1; done
SCRIPT
  start_watched end dlock run k -- slow
  wait_until test -e ready
  kill -TERM "$(cat end.pid)"
  wait_until test -e cleaning
  kill -TERM "$(cat end.pid)"
  kill -INT "$(cat end.pid)"
  run -75 dlock run -n k -- true
  [ ! -e end ]
  touch go
  [ "$(how_ended end)" = "exit 9" ]
  [ -e cleaned ]
}

@test "7.4 TERM to dlock while CMD has no handler: dlock dies of TERM as CMD did" {
  start_watched end dlock run k -- sh -c 'touch ready; exec sleep 300'
  wait_until test -e ready
  kill -TERM "$(cat end.pid)"
  [ "$(how_ended end)" = "signal 15" ]
  run -0 dlock run -n k -- true
}

@test "7.5 a signal to the whole group ends everything once (timeout, CI runners)" {
  watched end timeout 0.3 dlock run k -- sleep 300
  [ "$(cat end)" = "exit 124" ]
  run -0 dlock run -n k -- true
}

@test "7.6 ^C reaches CMD once" {
  # A trap of the shell would count two that come close together as one: this counts each call of the handler.
  cat >count.py <<'PROGRAM'
import os, select, signal
seen, told = os.pipe()
os.set_blocking(told, False)
signal.set_wakeup_fd(told)
signal.signal(signal.SIGINT, lambda number, frame: None)
open("ready", "w").write("yes")
count, patience = 0, 20
while select.select([seen], [], [], patience)[0]:  # until none comes for a while
    count, patience = count + len(os.read(seen, 1)), 0.3
    open(f"got{count}", "w").write("yes")
raise SystemExit(count)
PROGRAM
  # Four, since the kernel too makes one of two when CMD is slow to wake up.
  run -4 terminal file:ready 'send:\x03' file:got1 'send:\x03' file:got2 'send:\x03' file:got3 'send:\x03' -- dlock run k -- "${python[@]}" count.py
  run -0 dlock run -n k -- true
}

@test "7.7 ^C ends the loop that dlock runs in" {
  run -130 terminal file:turns 'send:\x03' -- \
    bash -c 'for i in 1 2 3; do dlock run k -- sh -c "echo $i >>turns; exec sleep 300"; done; echo after >>turns'
  [ "$(cat turns)" = 1 ]
}

@test "7.8 the prompt comes back when the clean-up after ^C is done, with CMD's status" {
  script cleaner <<'SCRIPT'
#!/bin/bash
trap 'sleep 0.5; echo cleaned-up; exit 9' INT
echo ready >ready
while :; do sleep 0.1; done
SCRIPT
  run terminal 'expect:PS> ' 'send:dlock run k -- cleaner\n' file:ready 'send:\x03' 'expect:cleaned-up[^P]*PS> ' \
    'send:echo status=$?\n' 'expect:status=9' 'send:exit 5\n' -- env PS1='PS> ' bash --norc --noprofile -i
  [ "$status" = 5 ]
}

@test "7.9 ^C while waiting withdraws and stops a loop" {
  hold_lock k
  run -130 terminal expect:in.line 'send:\x03' -- bash -c 'for i in 1 2; do dlock run k -- true; done; touch after'
  [ ! -e after ]
  [ "$(count waiters k)" = 0 ]
}

@test "7.10 ^\\ ends CMD and dlock by QUIT" {
  run -131 terminal file:ready 'send:\x1c' -- dlock run k -- sh -c 'ulimit -c 0; echo >ready; exec sleep 300'
}

@test "7.11 CMD reads from the terminal" {
  run -0 terminal 'expect:name\?' 'send:Ada\n' 'expect:hello Ada' -- dlock run k -- sh -c 'printf "name? "; read name; echo "hello $name"'
}

@test "7.12 the signal of a timer that was set before dlock was executed reaches CMD" {
  watched end "${python[@]}" -c 'import os, signal, sys; signal.setitimer(signal.ITIMER_REAL, 0.3); os.execvp(sys.argv[1], sys.argv[1:])' \
    dlock run --max-hold 10s k -- sleep 300
  [ "$(cat end)" = "signal 14" ]
  run -0 dlock run -n k -- true
}

@test "7.13 ^C reaches a command that has left our process group, as timeout does" {
  run -130 terminal file:ready 'send:\x03' -- dlock run k -- timeout 60 sh -c 'echo >ready; exec sleep 50'
  run -0 dlock run -n k -- true
}

@test "7.13 a terminal that hangs up ends CMD, also of a dlock that leads the session" {
  run -129 terminal file:ready hangup: -- dlock run k -- sh -c 'echo $$ >ready; exec sleep 300'
  run -0 dlock run -n k -- true
  rm ready
  run terminal file:ready hangup: -- bash --norc --noprofile -ic 'dlock run k -- sh -c "echo >ready; exec sleep 300"; true'
  wait_until is_free k
}

# bats test_tags=all
@test "7.14 ^S on the terminal of a waiter does not keep it, or those behind it, from their turn" {
  start dlock run k -- sh -c 'until [ -e go ]; do sleep 0.1; done'
  wait_until is_held k
  run -0 terminal expect:in.line 'send:\x13' 'run:touch go' file:ran 'send:\x11' -- dlock run k -- sh -c 'echo >ran'
  run -0 dlock run -n k -- true
}

@test "7.15 in the background of a terminal with tostop a loss is told, and CMD ended" {
  run terminal 'expect:PS> ' 'send:stty tostop; dlock run k -- note-signals &\n' file:ready \
    'run:dlock force-release --yes k' 'expect:LOST k' 'run:until grep TERM got; do sleep 0.1; done; touch finish' \
    'send:wait $!; echo ended with $?\n' 'expect:ended with 79' 'send:exit\n' -- env PS1='PS> ' bash --norc --noprofile -i
  echo "$output"
  [ "$status" = 0 ]
}

@test "8.1 ^Z stops dlock and CMD, the lock stays held, and fg goes on" {
  script counter <<'SCRIPT'
#!/bin/bash
echo $$ >counter.pid
echo ready >ready
until [ -e finish ]; do sleep 0.1; done
echo counter ends
exit 9
SCRIPT
  script stopped <<'SCRIPT'
#!/bin/sh
until grep -q '^State:.T' "/proc/$(cat counter.pid)/status"; do sleep 0.1; done
dlock run -n k -- true
[ $? = 75 ]
SCRIPT
  run terminal 'expect:PS> ' 'send:dlock run --ttl 1s k -- counter\n' file:ready 'send:\x1a' 'expect:Stopped' 'expect:PS> ' \
    'run:stopped' 'run:sleep 1.2' run:stopped 'send:fg\n' 'run:touch finish' 'expect:counter ends[^P]*PS> ' \
    'send:echo status=$?\n' 'expect:status=9' 'send:exit\n' -- env PS1='PS> ' bash --norc --noprofile -i
  [ "$status" = 0 ]
  run -0 dlock run -n k -- true
}

# bats test_tags=all
@test "8.2 ^Z twice works as the first time, and bg goes on in the background" {
  run terminal 'expect:PS> ' 'send:dlock run k -- note-signals\n' file:ready 'send:\x1a' 'expect:Stopped[^P]*PS> ' \
    'send:fg\n' 'expect:note-signals' file:got 'send:\x1a' 'expect:Stopped[^P]*PS> ' \
    'send:bg\n' 'expect:PS> ' 'run:touch finish' 'send:wait; echo status=$?\n' 'expect:status=' 'send:exit\n' \
    -- env PS1='PS> ' bash --norc --noprofile -i
  [ "$status" = 0 ]
  run -0 dlock run -n k -- true
}

# on_terminal STEP...: with a shell that has job control.
on_terminal() {
  run -0 terminal 'expect:PS> ' "$@" 'expect:PS> ' 'send:exit\n' -- env PS1='PS> ' bash --norc --noprofile -i
}

# bats test_tags=all
@test "8.2 a CMD that stops by itself gives the terminal back to the shell, and fg continues it" {
  local stop
  for stop in STOP TSTP; do
    on_terminal "send:dlock run k -- sh -c 'kill -$stop "'$$'"; echo goes on'\\n" 'expect:Stopped' 'expect:PS> ' 'send:fg\n' 'expect:\ngoes on'
  done
  on_terminal 'send:dlock run k -- env PS1="IN> " bash --norc --noprofile -i\n' expect:-i 'expect:IN> ' 'send:suspend\n' 'expect:Stopped' 'expect:PS> ' \
    'run:dlock inspect k | grep -q held' 'send:fg\n' 'expect:IN> ' 'send:suspend\n' 'expect:Stopped' 'expect:PS> ' 'send:fg\n' 'expect:IN> ' 'send:exit\n'
}

# bats test_tags=all
@test "8.2 a CMD in the background that may not write to the terminal is a stopped job, and fg continues it" {
  on_terminal 'send:stty tostop; set -b\n' 'expect:PS> ' 'send:dlock run k -- sh -c "echo goes on" &\n' 'expect:Stopped' 'send:fg\n' 'expect:\ngoes on'
}

@test "8.2 a CMD that is stopped without a terminal, or in its background, stops dlock not: who continues it is done" {
  start_watched end setsid dlock run k -- note-signals
  wait_until filled ready
  kill -STOP "$(cat noting.pid)"
  wait_until in_state "$(cat noting.pid)" T
  kill -CONT "$(cat noting.pid)"
  touch finish
  [ "$(how_ended end)" = "exit 9" ]
  rm finish ready
  on_terminal 'send:dlock run k -- note-signals &\n' file:ready 'run:kill -STOP $(cat noting.pid)' \
    'run:until grep -q "^State:.T" /proc/$(cat noting.pid)/status; do sleep 0.1; done' 'run:kill -CONT $(cat noting.pid)' 'run:touch finish' \
    'send:wait %1; echo status=$?\n' 'expect:status=9'
}

@test "8.3 SIGSTOP and SIGCONT of dlock alone harm nothing" {
  start_watched end dlock run --ttl 1s k -- note-signals
  wait_until filled ready
  kill -STOP "$(cat end.pid)"
  wait_until in_state "$(cat end.pid)" T
  run -75 dlock run -n k -- true
  kill -CONT "$(cat end.pid)"
  touch finish
  [ "$(how_ended end)" = "exit 9" ]
  [ "$(count holders k)" = 0 ]
}

# What a person does with a run, a waiter and a hold on a terminal. Under a lock on a server CMD's stop is reported by its
# guard, maybe late: it must not stop a job that has been continued, which would then not get ^C.
job_control() {
  export KEY=$key
  local shell begin="dlock run --ttl $((3 * slowness))s $key --"
  local stop=('send:\x1a' 'expect:Stopped' 'expect:PS> ' 'run:stopped') go_on=('send:fg\n' run:in_front 'send:\x03' 'run:got INT')
  for shell in 'bash --norc --noprofile -i' 'dash -i'; do
    as_a_job "$begin note-signals" 9 file:ready "${stop[@]}" "${go_on[@]}" "${stop[@]}" "${go_on[@]}" \
      "${stop[@]}" 'send:bg\n' 'run:got CONT' 'expect:PS> ' "${go_on[@]}" 'run:stty -F "/proc/$(cat noting.pid)/fd/0" rows 30' 'run:got WINCH' 'run:touch finish'
    as_a_job "$begin $begin note-signals" 9 file:ready "${stop[@]}" "${go_on[@]}" "${stop[@]}" "${go_on[@]}" 'run:touch finish'
    hold_lock "$key"
    as_a_job "$begin true" 130 'expect:held by' "${stop[@]:0:3}" 'send:fg\n' run:in_front 'expect:held by' "${stop[@]:0:3}" 'send:fg\n' run:in_front 'expect:held by' 'send:\x03'
    let_go
    as_a_job "dlock hold $key" 0 'expect:[0-9a-f]{32}' "${stop[@]:0:3}" 'send:fg\n' run:in_front "${stop[@]:0:3}" 'send:fg\n' run:in_front 'send:\x04'
    is_free "$key"
  done
}
as_a_job() { # COMMAND STATUS STEP...
  rm -f ready got finish
  # shellcheck disable=SC2086 # words
  run terminal 'expect:PS> ' "send:$1\\n" "${@:3}" 'expect:PS> ' 'send:echo status=$?\n' "expect:status=$2" \
    'expect:PS> ' 'send:exit\n' -- env PS1='PS> ' $shell
  echo "$output"
  [ "$status" = 0 ]
}
@test "8.4 each store: ^Z, fg, ^Z again and bg of a run, a run inside, a waiter and a hold; then ^C and WINCH arrive" {
  need_servers
  script got <<'SCRIPT'
#!/bin/bash
for ((i = 0; i < 300; i++)); do
  if grep -q "$1" got; then exec rm got; fi
  sleep 0.05
done 2>/dev/null
exit 1
SCRIPT
  script stopped <<'SCRIPT'
#!/bin/bash
until [[ $(ps -o stat= -p "$(cat noting.pid)") == T* ]]; do sleep 0.05; done
SCRIPT
  script in_front <<'SCRIPT'
#!/bin/bash
until ps -eo stat=,args= | grep -Eq "^[SR][^ ]*[+][^ ]* +dlock .*$KEY"; do sleep 0.05; done
SCRIPT
  on_two_stores job_control
}
