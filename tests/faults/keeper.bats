# SPDX-License-Identifier: Apache-2.0
# The seam to a keeper program, with real processes: dlock, its command, and a keeper that does as a script says
# (tests/support/programs/fake_keeper.cpp), installed where dlock looks for dlock-redis. The ttl is 2 s: TERM is due 1.48 s and
# KILL 1.81 s after the last confirmed send.
load ../support/cli

setup() {
  set_world
  install_keeper fake_keeper
  export DLOCK_BACKEND=redis://fake FAKE_KEEPER_LOG=$BATS_TEST_TMPDIR/work/heard
  export FAKE_KEEPER_PID=$BATS_TEST_TMPDIR/work/keeper.pid FAKE_KEEPER_LEASE=$BATS_TEST_TMPDIR/work/lease
}
teardown() { end_world; }

# script NAME for the keeper, then a command that writes its age and the time every 20 ms until it is ended, TERM or not.
keeper_does() { export FAKE_KEEPER_SCRIPT=$1; }
script_ticking() {
  script ticking <<'EOF'
#!/usr/bin/python3 -SE
import os, signal, sys, time
if "--stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: os.write(2, b"TERM\n"))
def now(): return time.clock_gettime(time.CLOCK_BOOTTIME)
begin = now()
with open("ticks", "a", buffering=1) as ticks:
    while now() - begin < 60:
        ticks.write("%.3f %.3f\n" % (now() - begin, now()))
        time.sleep(0.02)
EOF
}
# The last act of the command came sooner than SECONDS after its first.
acted_for_less_than() { awk -v limit="$1" 'END { exit !($1 < limit) }' ticks; }
acted_within_its_lease() { awk -v end="$(cat lease)" 'END { exit !($2 > 0 && $2 < end) }' ticks; }
acted_until_last() { awk -v end="$(cat lease)" -v ms="$1" 'END { exit !($2 > end - ms / 1000) }' ticks; } # MS of its lease
acted_for_more_than() { awk -v limit="$1" 'END { exit !($1 > limit) }' ticks; }

@test "a keeper that grants and releases: the command's status, its token, the store that granted it" {
  keeper_does 'grant 30000; serve'
  run -7 dlock run k -- sh -c 'echo "$DLOCK_TOKEN $DLOCK_STORE $DLOCK_KEY"; exit 7'
  [ "$output" = "42 redis://fake k" ]
  [ "$(tr '\n' ' ' <heard)" = "acquire farewell started release " ]
}

@test "a keeper whose dlock has no stderr writes to nobody, and not to its server" {
  keeper_does 'grant 30000; serve'
  dlock run k -- sh -c 'readlink "/proc/$(cat "$FAKE_KEEPER_PID")/fd/2" >stderr' 2>&-
  [ "$(cat stderr)" = /dev/null ]
}

@test "a keeper that hangs after the grant: the command is ended before its lease is, 79" {
  script_ticking
  keeper_does "grant $((2000 * slowness)); hang"
  run -79 dlock run --ttl "$((2 * slowness))s" k -- ticking
  acted_within_its_lease
  acted_until_last $((800 * slowness))
  [[ "$output" == *"LOST k: no renewal for "* ]]
}

@test "the same for a command that ignores TERM: KILL" {
  script_ticking
  keeper_does "grant $((2000 * slowness)); hang"
  run -79 dlock run --ttl "$((2 * slowness))s" k -- ticking --stubborn
  acted_within_its_lease
  acted_until_last $((600 * slowness))
  [[ "$output" == *TERM* ]]
}

@test "a keeper that is stopped (SIGSTOP): the same" {
  script_ticking
  keeper_does "grant $((2000 * slowness)); stop"
  start_watched end dlock run --ttl "$((2 * slowness))s" k -- ticking
  wait_until filled keeper.pid
  wait_until in_state "$(cat keeper.pid)" T
  [ "$(how_ended end)" = "exit 79" ]
  acted_within_its_lease
}

@test "a keeper that is killed (SIGKILL): the command has what is left of the lease, then 79" {
  script_ticking
  keeper_does "grant $((2000 * slowness)); hear; die"
  run -79 dlock run --ttl "$((2 * slowness))s" k -- ticking
  acted_within_its_lease
  acted_until_last $((800 * slowness))
}

@test "a grant behind which its loss waits to be read: nothing is started, 79" {
  keeper_does 'sleep 2000; grant 30000; lost it was force-released; stop'
  start_watched end dlock run k -- touch ran
  wait_until filled keeper.pid
  kill -STOP "$(pid_of end)"
  wait_until in_state "$(cat keeper.pid)" T
  kill -CONT "$(pid_of end)"
  [ "$(how_ended end)" = "exit 79" ]
  [ ! -e ran ]
  kill -KILL "$(cat keeper.pid)"
}

@test "a keeper that is killed under a short command: its status, and a warning that names the end of the lease" {
  keeper_does "grant $((2000 * slowness)); hear; die"
  run -3 dlock run --ttl "$((2 * slowness))s" k -- sh -c 'sleep 0.3; exit 3'
  [[ "$output" == *"could not be confirmed"*"the lease ends by itself in"* ]]
}

@test "a keeper that has released by itself is not asked again: what it could not confirm is said with its reason" {
  keeper_does "grant 30000; unconfirmed the server fell silent; serve"
  run -3 dlock run k -- sh -c 'sleep 0.3; exit 3'
  [[ "$output" == *"could not be confirmed"*"the server fell silent"* ]]
}

# bats test_tags=all
@test "a keeper that says lost: TERM at once, to the descendants too" {
  script_ticking
  keeper_does "grant 30000; hear; sleep $((800 * slowness)); lost it was taken by ci-4; serve"
  run -79 dlock run k -- sh -c 'setsid ticking & setsid ticking; exit 0'
  acted_for_less_than "$((slowness + 1))"
  [[ "$output" == *"LOST k: it was taken by ci-4; sent TERM to pid"* ]]
  run ! pgrep -f "$BATS_TEST_TMPDIR/bin/ticking"
}

@test "a renewal that comes 0.4 ttl late costs nothing" {
  local ttl=$((3000 * slowness))
  keeper_does "grant $ttl; late $ttl; renew $ttl; serve"
  # TERM is due 0.84 ttl after the grant, the renewal comes after 0.73.
  run -0 dlock run --ttl "${ttl}ms" --kill-after 200ms k -- sleep "$((3200 * slowness))e-3"
  [ "$output" = "" ]
}

# What the socket held when dlock went on says that the lease is over.
@test "a supervisor that was stopped for so long that its socket is full waits for the latest renewal" {
  keeper_does "grant 2000; hear; more $((20000 * slowness)); serve"
  script waits 'touch begun; until [ -e go ]; do sleep 0.1; done'
  start_watched end dlock run --ttl 2s --kill-after 100ms k -- waits
  wait_until grep -qsx started heard
  kill -STOP "$(pid_of end)"
  wait_until lease_is_over
  kill -CONT "$(pid_of end)"
  wait_until lease_is_another_one
  touch go
  [ "$(how_ended end)" = "exit 0" ]
}
lease_is_over() { awk -v end="$(cat lease)" '{ exit !($1 > end) }' /proc/uptime; }
lease_is_another_one() { ! lease_is_over; }

# A keeper that renews, does the STEPS (TTL is that of the run) and then hangs or dies: the command is ended within the
# lease that it was told of last, and has acted for more than MS.
hangs_in_its_lease() { # STEPS MS
  ends_in_its_lease "$1; hang" "$2" --stubborn
  [[ "$output" == *"LOST k: no renewal"* ]]
}
dies_in_its_lease() { ends_in_its_lease "$1; die" "$2"; } # STEPS MS
ends_in_its_lease() { # STEPS MS [OPTION]: of the command
  local ttl=$((2000 * slowness))
  script_ticking
  keeper_does "grant $ttl; renew $ttl; ${1//TTL/$ttl}"
  run -79 dlock run --ttl "${ttl}ms" k -- ticking "${@:3}"
  acted_within_its_lease
  acted_for_more_than "$(($2 * slowness))e-3"
}

# Of a ttl of 6, the renewals are 2 and 4 after the grant: TERM is due 8.46, KILL 9.45 after it.
@test "a keeper that hangs after it has renewed: the command is ended before that lease is, 79" { hangs_in_its_lease 'renew TTL' 2500; }

@test "a keeper that is killed after it has renewed: the same" { dies_in_its_lease 'renew TTL' 2200; }

@test "a renewal of a keeper that is dead counts, though dlock was stopped when it came" {
  local ttl=$((2000 * slowness))
  script_ticking
  keeper_does "grant $ttl; hear; renew $ttl; renew $ttl; die"
  start_watched end dlock run --ttl "${ttl}ms" k -- ticking
  wait_until grep -qsx started heard
  kill -STOP "$(pid_of end)"
  wait_until ended "$(cat keeper.pid)"
  kill -CONT "$(pid_of end)"
  [ "$(how_ended end)" = "exit 79" ]
  acted_within_its_lease
  acted_for_more_than "$((2200 * slowness))e-3"
}

@test "a keeper that talks nonsense is one that is gone" {
  keeper_does 'garbage; serve'
  run -70 dlock run k -- true
  [[ "$output" == *"do not understand each other"* ]]
}

@test "busy is 75, denied 77, unreachable 69, and nothing was run" {
  keeper_does busy
  run -75 dlock run k -- touch ran
  keeper_does denied
  run -77 dlock run k -- touch ran
  keeper_does unavailable
  run -69 dlock run k -- touch ran
  [[ "$output" == *"connection refused"* ]]
  [ ! -e ran ]
}

# A command never runs unlocked, nor under another lock, beside a store that may be well.
@test "a keeper that does not answer, or ends, is no outage: 70 with what it was doing, neither run nor fallback" {
  local url=redis://fake
  not_run() { # MESSAGE SCRIPT [OPTION...]
    rm -f keeper.pid
    keeper_does "$2"
    run -70 dlock run "${@:3}" --if-unavailable=run --fallback "local:$locks" k -- touch ran
    # shellcheck disable=SC2053  # a pattern
    [[ "$output" == $1 ]] || { echo "$output"; return 1; }
    [ ! -e ran ]
    wait_until ended "$(cat keeper.pid)"
  }
  local -a briefly=(-n --connect-timeout 100ms)
  not_run "*dlock: the keeper (pid *) of $url did not answer in time: it waits, *s after it was asked for k*nothing was run"* hang "${briefly[@]}"
  not_run "*dlock: the keeper (pid *) of $url did not answer in time: it is stopped, *" stop "${briefly[@]}"
  not_run "*dlock: the keeper (pid *) of $url did not answer in time: it computes, *" busyloop "${briefly[@]}"
  not_run "*dlock: the keeper (pid *) of $url did not answer in time: *; its last message was: no route*" 'unreached no route; hang' "${briefly[@]}"
  not_run "*/dlock-redis died of SIGKILL*nothing was run"* die
  not_run "*/dlock-redis died of SIGSEGV*nothing was run"* crash
  not_run "*/dlock-redis ended with status 3*nothing was run"* 'exit 3'
}

# bats test_tags=all
@test "--wait ends with a keeper that is busy, not when a connection would have been given up" {
  keeper_does busyloop
  local began=$SECONDS
  run -70 dlock run -w 1s --connect-timeout 60s k -- touch ran
  [ $((SECONDS - began)) -lt 30 ]
  [ ! -e ran ]
}

@test "a lease that acquire took from the fallback is checked, renewed and released there" {
  keeper_does unavailable
  dlock acquire --fallback "local:$locks" --ttl 10m --shell k >exports 2>err
  # shellcheck disable=SC1091
  . ./exports
  [ "$DLOCK_STORE" = "local:$locks" ]
  run -0 dlock check k "$DLOCK_TOKEN"
  run -0 dlock renew --owner "$DLOCK_OWNER" --ttl 20m k
  run -75 env -u DLOCK_HELD dlock run -n -b "local:$locks" k -- true
  run -0 dlock release --owner "$DLOCK_OWNER" k
  run -0 env -u DLOCK_HELD dlock run -n -b "local:$locks" k -- true
}

@test "--if-unavailable=run runs without the lock, and says so" {
  keeper_does unavailable
  run -5 --separate-stderr dlock run --if-unavailable=run k -- sh -c 'echo "${DLOCK_TOKEN-none}"; exit 5'
  [ "$output" = none ]
  [[ "$stderr" == *"running WITHOUT the lock"* ]]
  keeper_does busy
  run -75 dlock run --if-unavailable=run k -- true
  # A program that cannot be loaded says nothing of its store.
  keeper_does 'exit 127'
  run -71 dlock run --if-unavailable=run k -- touch ran
  [[ "$output" == "dlock: the keeper "*"/dlock-redis could not be loaded"* ]]
  [ ! -e ran ]
}

@test "INT while a deaf keeper is waited for: dlock dies of it within a second or two" {
  keeper_does hang
  start_watched end dlock run k -- true
  kill -INT "$(cat end.pid)"
  [ "$(how_ended end)" = "signal 2" ]
}

@test "TERM while a stopped keeper is waited for: it is continued, to leave the queue" {
  keeper_does 'stop; serve'
  start_watched end dlock run k -- true
  wait_until filled keeper.pid
  wait_until in_state "$(cat keeper.pid)" T
  kill -TERM "$(cat end.pid)"
  [ "$(how_ended end)" = "signal 15" ]
  grep -qx withdraw heard
}

@test "^Z and a kill of the job's group do not reach the keeper: it is in a session of its own" {
  keeper_does 'grant 30000; serve'
  # A job as an interactive shell makes it: dlock leads a process group.
  script job <<'EOF'
#!/usr/bin/python3 -SE
import os, sys
os.setpgid(0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
EOF
  start_watched end job dlock run k -- sh -c 'echo $$ >cmd.pid; until [ -e go ]; do sleep 0.1; done'
  wait_until filled cmd.pid
  local supervisor job keeper
  keeper=$(cat keeper.pid) supervisor=$(cat end.pid)
  job=$(ps -o pgid= -p "$supervisor" | tr -d ' ')
  [ "$(ps -o sid= -p "$keeper")" != "$(ps -o sid= -p "$supervisor")" ]
  kill -TSTP -- "-$job"
  wait_until in_state "$supervisor" T
  run ! in_state "$keeper" T
  kill -CONT -- "-$job"
  wait_until in_state "$supervisor" SR
  kill -TERM -- "-$job"
  [ "$(how_ended end)" = "signal 15" ]
  # It has heard the release, and did not die of the signal before.
  [ "$(grep -vx who heard | tr '\n' ' ')" = "acquire farewell started release " ]
}

@test "the password reaches the keeper, but no command line and no message" {
  keeper_does unavailable
  run -69 dlock run -b redis://app:hunter2@fake k -- true
  [[ "$output" != *hunter2* ]]
  [[ "$output" == *"shows it"* || "$output" == *"***"* || "$output" == *ps* ]]
}

# A socket that accepts and never says a word: a keeper waits there for its --connect-timeout.
silent_server() { # PATH
  start "${python[@]}" -c 'import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); s.listen(); time.sleep(120)' "$1"
  wait_until [ -S "$1" ]
}
owner_of_environ_is() { [ "$(stat -c %u "/proc/$1/environ")" = "$2" ]; } # PID UID

@test "other programs of the user cannot look into a keeper, and the password is not in its environment" {
  local as=() supervisor keeper
  # shellcheck disable=SC2153 # of cli.bash
  cp "$(dirname "$DLOCK")/../libexec/dlock/dlock-redis" "$BATS_TEST_TMPDIR/prefix/libexec/dlock/dlock-redis"
  chmod 755 "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR"
  [ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
  silent_server "$BATS_TEST_TMPDIR/silent"
  export DLOCK_PASSWORD=hunter2 DLOCK_FALLBACK=redis://anna:hunter2@127.0.0.1:1
  DLOCK_BACKEND="redis+unix://anna:hunter2@$BATS_TEST_TMPDIR/silent" start "${as[@]}" dlock run --connect-timeout 60s k -- true
  unset DLOCK_PASSWORD DLOCK_FALLBACK
  supervisor=$started_pid
  wait_until pgrep -P "$supervisor" '^dlock-redis'
  keeper=$(pgrep -P "$supervisor" '^dlock-redis')
  started+=("$keeper")
  # The kernel gives the files of a process that must not be dumped to root.
  wait_until owner_of_environ_is "$keeper" 0
  run ! "${as[@]}" cat "/proc/$keeper/environ"
  run -0 "${as[@]}" grep -qz ^DLOCK_PASSWORD= "/proc/$supervisor/environ"
  [ "$(id -u)" != 0 ] || run ! grep -qz hunter2 "/proc/$keeper/environ"
  # What others have to see of it is there.
  run -0 "${as[@]}" grep -q dlock-redis "/proc/$keeper/stat" "/proc/$keeper/status" "/proc/$keeper/cmdline"
}

@test "a backend that is not installed is named with its package" {
  rm "$BATS_TEST_TMPDIR/prefix/libexec/dlock/dlock-redis"
  run -78 uninstalled dlock run k -- true
  [[ "$output" == *"backend 'redis' is not installed"*"apt install dlock-redis"* ]]
}

# A keeper that does not even see the end of its supervisor is still not left behind.
given_up() { # STATUS SCRIPT WORD...: of dlock run
  rm -f keeper.pid
  keeper_does "$2"
  run "-$1" dlock run "${@:3}"
  wait_until ended "$(cat keeper.pid)"
}

# bats test_tags=all
@test "a keeper that is given up is killed and reaped: silent, talking nonsense or too much, deaf to the release" {
  given_up 70 freeze -n --connect-timeout 100ms k -- touch ran
  given_up 70 'garbage; freeze' k -- touch ran
  given_up 70 'flood; freeze' k -- touch ran
  [[ "$output" == *"sent more than 65536 bytes at once"* ]]
  [ ! -e ran ]
  given_up 0 'grant 1000; freeze' --ttl 1s k -- true
  [[ "$output" == *"could not be confirmed"* ]]
  given_up 79 'grant 1000; garbage; freeze' --ttl 1s k -- sleep 20
}

# bats test_tags=all
@test "a keeper that is deaf when INT ends the wait is killed and reaped, too" {
  keeper_does freeze
  start_watched end dlock run k -- true
  wait_until filled keeper.pid
  kill -INT "$(cat end.pid)"
  [ "$(how_ended end)" = "signal 2" ]
  ended "$(cat keeper.pid)"
}

@test "the command's guard is handed over as a pidfd, not as a number that may be somebody else's by then" {
  keeper_does 'grant 30000; hear; serve'
  run -0 dlock run k -- sh -c 'echo $PPID; until [ -s heard.pidfd ]; do sleep 0.1; done; cat heard.pidfd'
  [ "${lines[0]}" = "${lines[1]}" ]
}

# --- a keeper that cannot go on (memory_keeper.cpp) ------------------------------------------------------------------

cannot_go_on() { # STATUS HOW WHY: the reason is said, nothing was run, nothing is left
  install_keeper memory_keeper
  run "-$1" env MEMORY_KEEPER_FAILS="$2" MEMORY_KEEPER_PID="$FAKE_KEEPER_PID" dlock run k -- touch ran
  [[ "$output" == "dlock: the keeper"*" cannot go on: $3"* ]]
  [[ "$output" == *"nothing was run"* ]]
  [ ! -e ran ]
  wait_until ended "$(cat "$FAKE_KEEPER_PID")"
}

@test "a keeper that wants memory without end: its limit ends it, 71 with the reason" { cannot_go_on 71 memory 'out of memory: it may use 272 MiB'; }
@test "a keeper whose library throws: 70 with the reason" { cannot_go_on 70 exception 'a null string'; }
@test "a keeper whose library throws in a thread of its own: the same" { cannot_go_on 70 thread 'a null string'; }
