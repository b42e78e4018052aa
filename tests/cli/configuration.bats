# SPDX-License-Identifier: Apache-2.0
# Configuration as users write it: sections of keys, variables, conf.d, and what `config check` finds.
load ../support/cli

setup() {
  set_world
  unset DLOCK_BACKEND
  settings=$HOME/.config/dlock
  mkdir -p "$settings/conf.d"
  mkdir -m 700 "$BATS_TEST_TMPDIR/shared"
  cat >"$settings/config.toml" <<TOML
default-backend = "local:$locks"
[backend.shared]
url = "local:$BATS_TEST_TMPDIR/shared"
[key."deploy/*"]
backend = "shared"
reason = "run \${RUN_ID:-by hand}"
max-hold = 2
[key."db"]
permits = 2
warn-held = "0=4"
wait = 0
TOML
}
teardown() { end_world; }

@test "a section of keys decides where they are locked, why, and for how long" {
  run -124 env RUN_ID=17 dlock run -q deploy/test -- sh -c 'echo "$DLOCK_STORE"; dlock inspect --json deploy/test | jq -r ".holders[0].reason"; sleep 100'
  [[ "$output" == "local:$BATS_TEST_TMPDIR/shared
run 17
dlock: deploy/test was held for "* ]]
  run -0 dlock run other -- sh -c 'echo "$DLOCK_STORE"'
  [ "$output" = "local:$locks" ]
}

@test "what is no file, or may not be read, is said to be that" {
  mkdir folder
  run -78 dlock run -C folder k -- touch ran
  [[ "$output" == *"folder: Is a directory"*"name a file"* ]]
  ln -s loop loop
  run -78 dlock run -C loop k -- touch ran
  [[ "$output" != *chmod* ]]
  head -c 2000000 /dev/zero >large
  run -78 dlock run -C large k -- touch ran
  [[ "$output" == *"is larger than 1 MiB"*"is it the right file?"* ]]
  run -71 bash -c 'ulimit -n 3 && exec dlock run k -- touch ran'
  [[ "$output" == *"Too many open files"*"ulimit -n"* ]]
  run -71 bash -c 'ulimit -n 3 && exec dlock -b redis://127.0.0.1:1 inspect k'
  [[ "$output" == *"cannot run "*": Too many open files"*"ulimit -n"* ]]
  little=$(($(stat -Lc %s "$DLOCK") / 1024 + 400)) # enough for dlock
  for words in '-b redis://127.0.0.1:1 inspect k' 'stock show'; do
    run -71 bash -c "ulimit -v $little && exec dlock $words"
    [[ "$output" == *"cannot run "*": it may use "*" MiB of memory"*"ulimit -v"* ]]
  done
  run -71 bash -c "ulimit -v $little && exec dlock stock run phone -- touch ran"
  [[ "$output" == *"the keeper "*" could not be loaded"*"ulimit -v"* ]]
  [ ! -e ran ]
}

@test "a configuration can come through a pipe, but is not waited for where nobody writes" {
  run -0 dlock run -C <(true) k -- true
  run -0 dlock run -C <(sleep 0.2; echo 'default-backend = "shared"'; sed 1d "$settings/config.toml") k -- sh -c 'echo "$DLOCK_STORE"'
  [ "$output" = "local:$BATS_TEST_TMPDIR/shared" ]
  mkfifo pipe
  run -78 timeout "$patience" dlock run -C pipe k -- touch ran
  [[ "$output" == "dlock: cannot read the configuration pipe: it is a pipe without a writer"* ]]
  [ ! -e ran ]
}

@test "a NUL character in a value is refused: it would end the text, and begin another one in what is kept of a holder" {
  printf '[key."*"]\nreason = "a\\u0000x"\n' >nul.toml
  run -78 dlock run -C nul.toml k -- touch ran
  [[ "$output" == *"nul.toml:2:1: reason has a NUL character"* ]]
  [ ! -e ran ]
}

@test "permits of a section let so many in, and what is warned of is told" {
  hold_lock db
  start dlock run db -- sleep 100
  wait_until has 2 holders db
  run -4 dlock run -q db -- true
  [[ "$output" == "dlock: db is held by "*"(--warn-held); 1 other holds it too"* ]]
}

@test "a file in conf.d is stronger than config.toml, and the last one by name is the strongest" {
  printf '[key."deploy/*"]\nreason = "first"\nmax-hold = "1h"\n' >"$settings/conf.d/10.toml"
  printf '[key."deploy/*"]\nreason = "second"\n' >"$settings/conf.d/20.toml"
  run -0 dlock run deploy/test -- sh -c 'dlock inspect --json deploy/test | jq -r ".holders[0].reason"'
  [ "$output" = second ]
  run -0 dlock config show deploy/test
  grep -E "^max-hold +1h +.*/conf.d/10.toml:3$" <<<"$output"
  grep -E "^default-backend +shared +.*/config.toml:5$" <<<"$output"
}

@test "a file in conf.d with a password that others can read is refused as the main file is" {
  printf '[backend.r]\nurl = "redis://u:secret@h"\n' >"$settings/conf.d/r.toml"
  chmod 644 "$settings/conf.d/r.toml"
  run -77 dlock run k -- true
  [[ "$output" == *"conf.d/r.toml:2 holds a password"* ]]
  chmod 600 "$settings/conf.d/r.toml"
  run -0 dlock run k -- true
}

@test "config check says every mistake, resolves names, and --strict counts warnings" {
  run -0 dlock config check --strict
  run -0 env DLOCK_TLL=3 dlock config check
  run -78 env DLOCK_TLL=3 dlock config check --strict
  [[ "$output" == *'$DLOCK_TLL is not read'* ]]
  run -78 env DLOCK_TLL=3 dlock doctor --strict
  printf '[defaults]\nfallback = "nowhere"\nttl = 0\n[key.x]\nbackend = "gone"\nwiat = 5\n' >"$settings/conf.d/bad.toml"
  run -78 --separate-stderr dlock config check
  [ "$output" = "" ]
  [ "$(grep -c "^dlock: .*/conf.d/bad.toml:" <<<"$stderr")" = 4 ]
  run -78 --separate-stderr dlock config check --json
  [ "$(jq '[.ok, (.mistakes | length)]' -c <<<"$output")" = '[false,4]' ]
}

@test "config check names the packages that what is configured needs and does not find" {
  printf '[backend.far]\nurl = "redis://h"\nfallback = "zk://h"\n' >"$settings/config.toml"
  run -0 dlock config check --strict
  mkdir -p prefix/bin
  cp "$DLOCK" prefix/bin
  run -78 --separate-stderr uninstalled prefix/bin/dlock config check --strict
  [ "$(grep -c "^dlock: backend '.*' is not installed, .*: apt install dlock-" <<<"$stderr")" = 2 ]
  run -0 --separate-stderr uninstalled prefix/bin/dlock config check --json
  [ "$(jq '[.ok, (.warnings | length)]' -c <<<"$output")" = '[true,2]' ]
}

@test "a mistake in a file does not keep an operator from looking and freeing: it is told, and left out" {
  run -0 dlock acquire --ttl 5m k
  printf '[defaults]\nwiat = 5\nttl = "5 parsecs"\nfair = 3\n' >"$settings/conf.d/bad.toml"
  run -78 dlock run -n k -- true
  run -0 --separate-stderr dlock inspect --json k
  [ "$(jq '.holders | length' <<<"$output")" = 1 ]
  [ "$(jq -r .message <<<"$stderr" | grep -c "/conf.d/bad.toml:.*(left out)")" = 3 ]
  run -78 dlock doctor --json
  [ "$(jq '[.findings[] | select(.verdict == "fail" and .about == "configuration")] | length' <<<"$output")" = 3 ]
  run -64 dlock inspect --json --interval 5 --watch=x k
  run -0 dlock force-release --yes k
}

@test "what a file may have said of the store is not guessed: it has to be named" {
  run -0 dlock acquire --ttl 5m k
  printf 'default-backend = redis://h\n[defaults]\nwait = 10m\n' >"$settings/conf.d/bad.toml"
  run -78 dlock inspect k
  [[ "$output" == *"bad.toml:1:"*'write default-backend = "redis://h"'*'until it is mended, name the store with --backend URL'* ]]
  run -0 --separate-stderr dlock inspect -b "local:$locks" --json k
  [ "$(jq '.holders | length' <<<"$output")" = 1 ]
  run -0 env DLOCK_BACKEND="local:$locks" dlock force-release --yes k
}
