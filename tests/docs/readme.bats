# SPDX-License-Identifier: Apache-2.0
# What README.md shows works as it shows it.
bats_require_minimum_version 1.5.0
load helper

setup() {
  set_stage
  readme=$root/README.md
}

teardown() {
  if [ "${holder-}" ]; then let_go; fi
}

@test "cron: the job runs, and is skipped without a word while the one before is at work" {
  recorded "$stage/bin/sync-orders"
  run -0 block "$readme" "A cron job"
  [[ ${lines[0]} == PATH=/* ]]
  job=$(sed -E 's/^([^ ]+ +){5}//' <<<"${lines[1]}")
  sh -c "$job"
  [ "$(cat "$calls")" = "sync-orders --incremental under sync" ]
  hold sync
  run sh -c "$job"
  [ "$status" = 0 ]
  [ "$output" = "" ]
}

# The job of the only line of a crontab, as cron hands it to the shell.
daily_job() { block "$readme" "A daily job" | sed -E 's/^([^ ]+ +){5}//; s/\\%/%/g'; }

@test "a daily job: one of several hosts runs it, the others end with 0 in silence, and after a failure the next one runs it" {
  printf '#!/bin/sh\necho run >>"$calls"\n[ "$(wc -l <"$calls")" != 1 ]\n' >"$stage/bin/backup"
  chmod +x "$stage/bin/backup"
  run -1 sh -c "$(daily_job)" # the first host fails
  for _ in 2 3; do
    run -0 sh -c "$(daily_job)"
    [ "$output" = "" ]
  done
  [ "$(wc -l <"$calls")" = 2 ]
}

@test "a rate: three run, and a fourth has to wait though they have ended" {
  recorded "$stage/bin/send-newsletter"
  command=$(block "$readme" "At most three")
  for _ in 1 2 3; do sh -c "$command"; done
  run -75 sh -c "${command/ mail/ -n mail}"
  [ "$(wc -l <"$calls")" = 3 ]
}

@test "a freeze: a deployment is told by whom and why, until it is released" {
  steps=$(block "$readme" "A freeze")
  owner=$(sh -c "$(sed -n 1p <<<"$steps")" | cut -d ' ' -f 1)
  run -75 dlock run -n deploy/prod -- true
  [[ $output == *"$(id -un)@"*"freeze until Monday"* ]]
  sh -c "$(sed -n "2s/OWNER/$owner/p" <<<"$steps")"
  dlock run -n deploy/prod -- true
}

@test "flock and dlock: both lines run the job" {
  recorded "$stage/bin/sync-orders"
  command=$(block "$readme" dlock)
  sh -ec "${command//\/run\/lock/$stage}"
  [ "$(cat "$calls")" = "sync-orders --incremental under no lock
sync-orders --incremental under sync" ]
}

@test "deploy: the script runs under its lock, and a second one is told who has it" {
  recorded "$stage/deploy.sh"
  command=$(block "$readme" "A deployment")
  sh -c "$command"
  [ "$(cat "$calls")" = "deploy.sh --all under deploy/prod" ]
  hold --reason "release 2.4" deploy/prod
  run -75 sh -c "${command/--wait 10m/--wait 2s}"
  [[ $output == *"waiting for deploy/prod: next in line, 1"*" s of 2 s - held by "*": release 2.4"* ]]
}

@test "test databases: three run at a time, each with one of its own" {
  cat >"$stage/bin/make" <<'END'
#!/bin/sh
echo "$*" >>"$calls"
cat "$stage/gate" >/dev/null
END
  chmod +x "$stage/bin/make"
  export stage
  mkfifo "$stage/gate"
  command=$(block "$readme" "One of three")
  local makes=()
  for _ in 1 2 3; do
    sh -c "$command" 3>&- &
    makes+=("$!")
  done
  for _ in {1..1000}; do
    [ "$(wc -l <"$calls")" -lt 3 ] || break
    sleep 0.02
  done
  run -75 sh -c "${command/--wait 30m/-n}"
  exec {gate}>"$stage/gate"
  exec {gate}>&-
  wait "${makes[@]}"
  [ "$(sort "$calls")" = "integration-test DB=db1
integration-test DB=db2
integration-test DB=db3" ]
}

@test "two steps: nothing more is done when the lock was lost between them" {
  cat >"$stage/migrate.sh" <<'END'
#!/bin/sh
dlock force-release --yes db/schema >/dev/null
END
  recorded "$stage/verify.sh"
  chmod +x "$stage/migrate.sh"
  run -79 sh -c "$(block "$readme" "Two steps")"
  [ ! -s "$calls" ]
}

@test "two steps: the lock is held between them and free afterwards" {
  recorded "$stage/migrate.sh"
  cat >"$stage/verify.sh" <<'END'
#!/bin/sh
dlock run -n db/schema -- true 2>/dev/null
echo "verify.sh found $?" >>"$calls"
END
  chmod +x "$stage/verify.sh"
  block "$readme" "Two steps" | sh -e
  [ "$(cat "$calls")" = "migrate.sh under no lock
verify.sh found 75" ]
  dlock run -n db/schema -- true
}

# What `inspect` prints, without what is another one each time.
as_shown() {
  sed -E 's,local:[^ ]+,local:DIRECTORY,; s,holder  [^ ]+@[^ ]+ \([^)]+\)  for .*  token [0-9]+  ,holder  USER@HOST (CMD, pid N)  for AGE  token T  ,'
}

@test "operator: the holder is shown, and force-release frees it" {
  dlock run --reason "release 2.4" deploy/prod -- sleep 100 3>&- &
  dlock_pid=$!
  until [ "$(dlock inspect deploy/prod --json | jq '.holders | length')" = 1 ]; do sleep 0.1; done
  steps=$(block "$readme" "An operator")
  run -0 sh -c "$(sed -n 1p <<<"$steps")"
  [ "$(as_shown <<<"$output")" = "$(grep -A 1 '^    deploy/prod  held' "$readme" | cut -c 5- | as_shown)" ]
  [ "$(sh -c "$(sed -n 2p <<<"$steps")")" = "$(uname -n)" ]
  run -0 sh -c "$(sed -n 3p <<<"$steps") --yes"
  wait "$dlock_pid" && status=0 || status=$?
  [ "$status" = 79 ]
}

@test "the configuration that README.md shows is one" {
  (umask 077 && echo secret >"$stage/password")
  block "$readme" "Many machines" toml | sed "s,/etc/dlock/prod.password,$stage/password," >"$stage/config.toml"
  run -0 dlock config check --strict --config "$stage/config.toml"
}

# A configuration of these lines is one; what they name in /etc is there.
is_configuration() { # WHERE TEXT
  printf '%s\n' "$2" | sed "s,/etc/[^\"&]*,$stage/password,g" >"$stage/config.toml"
  run dlock config check --config "$stage/config.toml"
  [ "$status" = 0 ] || { printf '%s\n' "$1" "$2" "$output"; return 1; }
}

@test "every configuration that a document or a hint shows is one" {
  local file text line count=0
  (umask 077 && echo secret >"$stage/password")
  for file in "$readme" "$root"/man/*.scd; do
    while IFS= read -r -d '' text; do
      is_configuration "$file" "$text"
      ((++count))
    done < <(awk '
      /^```/ { if (inside && text ~ /(^|\n)(\[[a-z.]+[^\n]*\]|[a-z-]+ = )/) printf "%s%c", text, 0; inside = !inside; text = ""; next }
      inside { text = text $0 "\n" }' "$file")
  done
  [ "$count" -ge 4 ]
  # KEY = "VALUE" within a sentence, and in a message of the program.
  while IFS= read -r line; do
    case $line in
      default-backend*) is_configuration "$line" "$line"$'\n[backend.prod]\nurl = "local:"' ;;
      url*) is_configuration "$line" "[backend.x]"$'\n'"${line/.../local:}" ;;
      *) is_configuration "$line" "[defaults]"$'\n'"$line" ;;
    esac
    ((++count))
  done < <(cat <(grep -ohE '\*[a-z-]+ = ("[^"*]*"|[0-9]+|true|false)\*' "$root"/man/*.scd | tr -d '*') \
    <(grep -rohE --include='*.cpp' --include='*.h' '\b[a-z-]{3,} = \\"[^\\]*\\"' "$root"/{cmd,lib,backends} | tr -d "\\\\") | sort -u)
  [ "$count" -ge 8 ]
}

@test "README.md has at most 1100 words" {
  [ "$(wc -w <"$readme")" -le 1100 ]
}

@test "every command and option that README.md and the examples use exists" {
  files=("$readme" "$root"/examples/*.yml "$root"/examples/crontab "$root"/examples/Makefile)
  for command in $(grep -ohE '(^|[`(-] ?|  |= )dlock [a-z][a-z-]+' "${files[@]}" | sed 's/.*dlock //' | sort -u); do
    dlock help "$command" >/dev/null || { echo "dlock $command does not exist"; return 1; }
  done
  all=$(dlock help run; dlock help acquire; dlock help release; dlock help renew; dlock help inspect; dlock help history; dlock help force-release; dlock help stock)
  for option in $(grep -hE '^[^|]*dlock ' "${files[@]}" | sed 's/ -- .*//' | grep -oE -- ' --[a-z][a-z-]+' | sort -u); do
    grep -q -- "$option" <<<"$all" || { echo "$option does not exist"; return 1; }
  done
}

@test "every file that README.md and CONTRIBUTING.md point to exists" {
  for target in $(grep -ohE '\]\([^)]+\)' "$readme" "$root/CONTRIBUTING.md" | tr -d ']()'); do
    [ -e "$root/${target%%#*}" ] || { echo "$target does not exist"; return 1; }
  done
}

@test "the packages that README.md names are those of the list" {
  [[ "$(tr -s ' \n' ' ' <"$readme")" == *"\`$("$root/scripts/install-packages" --list build | paste -sd' ')\`"* ]]
}

@test "README names both commands on its first screen, and its lines have at most 110 columns" {
  head -n 24 "$root/README.md" | grep -q '^    ./scripts/quickstart '
  head -n 24 "$root/README.md" | grep -q '^    ./scripts/check '
  run -1 grep -nE '^.{111,}' "$root/README.md"
}

@test "the picture of two terminals is that of dlock as it is" {
  (cd / && "$root/scripts/terminal-picture") >"$stage/terminals.svg"
  words() { sed -E 's/<[^>]*>//g; s/[0-9.]+ (ms|s|µs)/AGE/g; s/pid [0-9]+/pid N/g; s/token [0-9]+/token T/g; s,local:[^ ]+,DIRECTORY,g; s/(held by|holder +) ?[^ ]+/\1 HOST/g;' "$1" | tr -d ' \n'; }
  diff <(words "$stage/terminals.svg") <(words "$root/man/terminals.svg")
}
