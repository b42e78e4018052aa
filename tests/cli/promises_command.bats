# SPDX-License-Identifier: Apache-2.0
# What CMD gets from `dlock run`, and what its caller gets back: promises 3 and 5.
load ../support/cli

setup() { set_world; }
teardown() { end_world; }

# The open descriptors of a shell as "N -> FILE", in the file `got`.
descriptors='ls -l /proc/$$/fd >all; sed -n "s/.* \([0-9]* -> \)/\1/p" all >got'
shell_with_descriptors() { "$@" sh -c "$descriptors" </dev/null >/dev/null 2>&1; }

@test "3.1 stdin, stdout and stderr are CMD's, byte for byte" {
  head -c 300000 /dev/urandom >in
  dlock run k -- sh -c 'cat; echo err >&2' <in >out 2>err
  cmp in out
  [ "$(cat err)" = err ]
}

@test "3.2 CMD has the descriptors that dlock got and the lock file, nothing else" {
  exec 7<"$0"
  shell_with_descriptors env
  mv got without
  shell_with_descriptors dlock run k --
  mv got with
  run -1 diff without with
  [ "$(grep -c '^[<>]' <<<"$output")" = 1 ]
  [[ "$output" == *"-> $locks/"* ]]
  grep '^7 ' with
}

@test "3.3 with -o CMD does not have the lock file either" {
  shell_with_descriptors env
  mv got without
  shell_with_descriptors dlock run -o k --
  mv got with
  diff without with
}

@test "3.4 with several KEYs CMD has one lock file for each" {
  shell_with_descriptors dlock run a b --
  [ "$(grep -c -F -- "-> $locks/" got)" = 2 ]
}

@test "3.5 descriptors that were closed stay closed" {
  local closed='for fd in 0 1 2; do [ ! -e /proc/$$/fd/$fd ] || exit 1; done; exit 42'
  run -42 bash -c 'exec "$@" <&- >&- 2>&-' - sh -c "$closed"
  run -42 bash -c 'exec "$@" <&- >&- 2>&-' - dlock run k -- sh -c "$closed"
}

@test "3.6 the limits are CMD's, also where dlock was executed by a process with children" {
  run -0 bash -c 'ulimit -Sn 256; sleep 2 & exec dlock run k -- bash -c "ulimit -Sn"'
  [ "$output" = 256 ]
}

@test "3.6 working directory, umask and limits are CMD's" {
  mkdir -p deep/er
  cd deep/er
  umask 027
  ulimit -n 77 -c 0 -t 1234
  local probe='pwd; umask; ulimit -a; ulimit -Ha; nice'
  bash -c "$probe" >"$BATS_TEST_TMPDIR/without"
  dlock run k -- bash -c "$probe" >"$BATS_TEST_TMPDIR/with"
  diff "$BATS_TEST_TMPDIR/without" "$BATS_TEST_TMPDIR/with"
}

@test "3.7 process group, session and controlling terminal are dlock's" {
  ids() { "$@" sh -c 'cut -d" " -f5-8 /proc/$$/stat'; }
  [ "$(ids)" = "$(ids dlock run k --)" ]
}

@test "3.8 the signal mask and what is ignored or caught are as dlock got them" {
  local probe=(grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status) how
  for how in --default-signal --ignore-signal=CHLD --ignore-signal=PIPE --ignore-signal=HUP,TERM,INT \
    --block-signal=USR1,TERM --default-signal=PIPE,CHLD '--block-signal=CHLD --ignore-signal=CHLD,PIPE,TSTP'; do
    # shellcheck disable=SC2086
    [ "$(env $how "${probe[@]}")" = "$(env $how dlock run k -- "${probe[@]}")" ]
  done
}

@test "3.9 an ignored SIGCHLD does not change the exit status" {
  run -6 env --ignore-signal=CHLD dlock run k -- sh -c 'exit 6'
  run -0 dlock run -n k -- true
}

@test "3.10 SIGPIPE ends CMD as it does without dlock" {
  run -0 bash -c 'set -o pipefail; dlock run k -- sh -c "yes; echo went on >&2" | head -n 1; [ "${PIPESTATUS[0]}" = 141 ] || echo "${PIPESTATUS[0]}"'
  [[ "$output" != *"went on"*"went on"* ]]
  run -0 bash -c 'dlock run k -- yes | head -n 1; echo "${PIPESTATUS[0]}"'
  [ "$output" = $'y\n141' ]
}

@test "3.11 the environment is CMD's, with seven variables more" {
  local given=(A=1 'B=with blank' EMPTY= DLOCK_BACKEND="$DLOCK_BACKEND" DLOCK_REASON=why "PATH=$PATH")
  env -i "${given[@]}" dlock run k -- env -0 | sort -z >with
  env -i "${given[@]}" env -0 | sort -z >without
  run -0 comm -z -13 without with
  [ "$(tr '\0' '\n' < <(comm -z -13 without with) | cut -d= -f1 | tr '\n' ' ')" = \
    "DLOCK_DEADLINE DLOCK_HELD DLOCK_KEY DLOCK_KEYS DLOCK_OWNER DLOCK_STORE DLOCK_TOKEN " ]
  [ "$(comm -z -23 without with)" = "" ]
}

@test "3.12 DLOCK_KEY, TOKEN, OWNER and STORE describe the lock as inspect sees it" {
  run -0 dlock run some/key -- sh -c 'dlock inspect --json some/key | jq -r ".key, .holders[0].token, .holders[0].owner, .store"
    printf "%s\n" "$DLOCK_KEY" "$DLOCK_TOKEN" "$DLOCK_OWNER" "$DLOCK_STORE"'
  [ "${#lines[@]}" = 8 ]
  [ "${lines[0]}" = "${lines[4]}" ]
  [ "${lines[1]}" = "${lines[5]}" ]
  [ "${lines[2]}" = "${lines[6]}" ]
  [ "${lines[3]}" = "${lines[7]}" ]
  [ "${lines[0]}" = some/key ]
  [[ "${lines[1]}" =~ ^[1-9][0-9]*$ ]]
}

@test "3.12 DLOCK_KEYS is one key a line; a hold that the kernel keeps has no DLOCK_DEADLINE, also under one that has" {
  run -0 dlock run 'b c' a -- sh -c 'printf "%s\n" "$DLOCK_KEYS" "deadline=$DLOCK_DEADLINE"'
  [ "$(head -n 2 <<<"$output" | sort)" = $'a\nb c' ]
  [ "${lines[2]}" = "deadline=" ]
  run -0 env DLOCK_DEADLINE=1700000000 dlock run k -- printenv DLOCK_DEADLINE
  [ "$output" = "" ]
}

@test "3.13 each exclusive holder has a larger token than all before it" {
  local last=0 token round
  for round in {1..20}; do
    token=$(dlock run k -- printenv DLOCK_TOKEN)
    [ "$token" -gt "$last" ]
    last=$token
  done
}

@test "5.1 every exit status of CMD is returned exactly" {
  local n
  for n in {0..9} {10..60..10} {64..79} {124..129} 254 255; do # dlock has statuses of its own among them
    run "-$n" dlock run k -- sh -c "exit $n"
  done
}

@test "5.2 when CMD dies of a signal, dlock dies of the same one, after the release" {
  local signal
  for signal in HUP INT QUIT KILL USR1 SEGV PIPE ALRM TERM; do
    watched end dlock run k -- sh -c "kill -$signal \$\$; sleep 60" # \$\$: the shell itself
    [ "$(cat end)" = "signal $(kill -l "$signal")" ]
    run -0 dlock run -n k -- true
  done
}

@test "5.3 a status of 128 and more is a status, not a signal" {
  watched end dlock run k -- sh -c 'exit 143'
  [ "$(cat end)" = "exit 143" ]
}

@test "5.4 what CMD leaves behind does not keep dlock waiting" {
  dlock run k -- sh -c 'sleep 300 >/dev/null 2>&1 </dev/null & echo $! >left.pid; exit 4' 3>&- || status=$?
  [ "$status" = 4 ]
  run -0 kill -0 "$(cat left.pid)"
}

@test "5.5 make and set -e see a failure as if dlock were not there" {
  printf 'all:\n\t@dlock run k -- false\n' >Makefile
  run -2 make --no-print-directory
  run -1 bash -ec 'dlock run k -- false; echo went on'
  [ "$output" = "" ]
}
