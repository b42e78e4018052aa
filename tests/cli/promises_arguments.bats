# SPDX-License-Identifier: Apache-2.0
# What `dlock run` promises about its arguments and its silence: promises 1, 2 and 4.
load ../support/cli

setup() {
  set_world
  script show <<'SHOW'
#!/bin/sh
for word; do printf '<%s>' "$word"; done
SHOW
}
teardown() { end_world; }

@test "1.1 what stands behind the first -- reaches CMD byte for byte" {
  run -0 dlock run k -- show '[a,b]' --x '' -n -- y $'\xff\x01\n' "it's" ' '
  [ "$output" = "<[a,b]><--x><><-n><--><y><"$'\xff\x01\n'"><it's>< >" ]
}

@test "1.2 argv is split at the first --, also when CMD has one of its own" {
  run -0 dlock run first second -- show -- a -- b
  [ "$output" = "<--><a><--><b>" ]
}

@test "1.3 without -- there is exactly one KEY, and the rest is CMD with its options" {
  run -0 dlock run k show -n --wait 3 '[a]' ''
  [ "$output" = "<-n><--wait><3><[a]><>" ]
}

@test "1.4 there is no shell between dlock and CMD" {
  run -0 dlock run k -- show '$HOME' '*' 'a;b' '`id`'
  [ "$output" = '<$HOME><*><a;b><`id`>' ]
}

@test "1.5 -c runs /bin/sh -c, before the KEY, behind it, and glued" {
  run -7 dlock run -c 'echo "$0" && exit 7' k
  [[ "$output" == */sh || "$output" = sh ]]
  run -7 dlock run k -c 'a=x; echo "$a" && exit 7'
  [ "$output" = x ]
  run -8 dlock run k '-cexit 8'
  run -9 dlock run --command='exit 9' k
  run -3 dlock run -n k -c 'true && exit 3'
}

@test "1.6 a KEY that begins with - stands behind --" {
  run -0 dlock run -- -n -- show x
  [ "$output" = "<x>" ]
  run -0 dlock run -- -key -- printenv DLOCK_KEY
  [ "$output" = -key ]
}

@test "1.7 no CMD, no KEY, an empty KEY and dlock alone are misuse" {
  run -64 dlock
  run -64 dlock run
  run -64 dlock run k
  run -64 dlock run k --
  run -64 dlock run -- true
  run -64 dlock run '' -- true
  run -64 dlock run k '' -- true
  run -64 dlock run '' true
  run -64 dlock run -c true
  run -64 dlock run -c true k -- true
}

@test "1.8 options behind the first KEY are refused, not guessed" {
  run -64 dlock run k -n -- true
  [[ "$output" == *-n* ]]
}

@test "1.9 keys are UTF-8 of 1 to 255 bytes without control characters" {
  local long
  long=$(printf 'k%.0s' {1..255})
  run -0 dlock run "$long" -- true
  run -64 dlock run "${long}k" -- true
  run -0 dlock run 'schlüssel/über alles' -- printenv DLOCK_KEY
  [ "$output" = 'schlüssel/über alles' ]
  run -64 dlock run $'a\nb' -- true
  run -64 dlock run $'a\x7f' -- true
  run -64 dlock run $'\xff\xfe' -- true
}

@test "1.10 -F and -u of flock are refused with the reason" {
  run -64 dlock run -F k -- true
  [[ "$output" == *-F*renew* ]]
  run -64 dlock run -u k -- true
  [[ "$output" == *-u*release* ]]
}

@test "1.11 durations are read as written: seconds, fractions, units and sums of them" {
  local good bad
  for good in 10 0.5 500ms 10s 1m30s 2h 1d 0; do
    run -0 dlock run -w "$good" k -- true
  done
  for bad in '' -1 1x s 1s2 99999999999999999999d 1m-3s ' ' nan 1e3; do
    run -64 dlock run -w "$bad" k -- true
    [[ "$output" == dlock:* ]]
  done
}

@test "1.12 numbers out of range and values that make no sense are misuse" {
  run -64 dlock run -E 256 k -- true
  run -64 dlock run -E -1 k -- true
  run -64 dlock run -E x k -- true
  run -64 dlock run --permits 0 k -- true
  run -64 dlock run --ttl 0 k -- true
  run -64 dlock run --ttl 500ms k -- true
  run -64 dlock run --ttl 10s --kill-after 5s k -- true
  run -64 dlock run --on-lost perhaps k -- true
  run -64 dlock run --on-lost signal:NOSUCH k -- true
}

@test "1.13 what a migrating user types first works" {
  run -0 dlock run -n k true
  run -0 dlock run -w 10 k -c 'true && true'
  run -0 dlock run k -- show --opt
  [ "$output" = "<--opt>" ]
  run -0 dlock run -n -E 0 nightly -- true
  run -0 dlock run -s k cat /dev/null
  run -0 dlock run --ttl=10 k true
  run -0 dlock run -nE0 k true
  run -0 dlock run -xw1.5 k true
  run -0 dlock run A -- dlock run B -- printenv DLOCK_KEY
  [ "$output" = B ]
  run -0 bash -c 'echo x | dlock run k cat'
  [ "$output" = x ]
  run -0 bash -c 'dlock run k -- yes | head -n 1'
  [ "$output" = y ]
}

@test "2.1 a CMD that cannot be found is 127 before the lock is taken" {
  hold_lock k
  run -127 dlock run -n k -- no-such-command
  [[ "$output" == *no-such-command* ]]
  run -127 dlock run k -- ./missing
  run -127 dlock run k -- /no/such/dir/cmd
  run -127 dlock run k -- ''
}

@test "2.2 a CMD that cannot be executed is 126 before the lock is taken" {
  hold_lock k
  echo '#!/bin/sh' >plain
  run -126 dlock run k -- ./plain
  [[ "$output" == *plain* ]]
  run -126 dlock run k -- /tmp
}

@test "2.3 what only execve can tell is 126 and 127 too, and the lock is free again" {
  printf '#!/no/such/interpreter\n' | script orphan
  run -127 dlock run k -- orphan
  [[ "$output" == *"cannot run 'orphan': No such file or directory"*"head -n 1 $BATS_TEST_TMPDIR/bin/orphan" ]]
  run -0 dlock run -n k -- true
}

@test "2.4 a script without #! line is run by sh, as shells do" {
  printf 'echo "$1"\n' | script bare
  run -0 dlock run k -- bare hello
  [ "$output" = hello ]
}

@test "4.1 nothing is said when all goes well without waiting" {
  run -0 --separate-stderr dlock run k -- true
  [ "$output$stderr" = "" ]
  run -5 --separate-stderr dlock run k -- sh -c 'exit 5'
  [ "$output$stderr" = "" ]
}

@test "4.2 stdout belongs to CMD, also when dlock has something to say" {
  run -0 --separate-stderr dlock run -v k -- echo mine
  [ "$output" = mine ]
  [[ "$stderr" == *dlock:* ]]
  hold_lock k
  run -75 --separate-stderr dlock run -v -n k -- echo mine
  [ "$output" = "" ]
  [[ "$stderr" == *"k is held by"* ]]
}
