# SPDX-License-Identifier: Apache-2.0
# The man pages and the program say the same: commands, options, environment, exit statuses.
bats_require_minimum_version 1.5.0
load helper

setup() {
  set_stage
  page=$root/man/dlock.1.scd
}

# Every help text there is: the overview, the general options, and that of each command it lists.
all_help() {
  dlock help
  dlock help options
  local command
  for command in $(commands_of_help); do dlock help "$command"; done
}

# In the overview a command stands at the start of an indented line, two blanks or more before what it does.
commands_of_help() { dlock help | sed -nE 's/^  ([a-z][a-z-]+)( .*)?  .*/\1/p' | sort -u; }

options_of() { grep -oE -- '--[a-z][a-z-]+' | sort -u; }

# scdoc escapes and the pages of other programs aside, an option in the page is bold: *--wait*.
options_of_page() { grep -oE -- '\*--[a-z][a-z-]+\*' "$page" | tr -d '*' | sort -u; }

same_lists() { # WHAT PROGRAM PAGE
  diff <(echo "$2") <(echo "$3") || {
    echo "$1 differ: < program, > page"
    return 1
  }
}

@test "the overview lists the commands" {
  [ "$(commands_of_help | wc -l)" -ge 15 ]
}

# Those that the short help leaves out as well.
options_of_all() {
  local command
  all_help | grep -oE -- '--[a-z][a-z-]+'
  for command in $(commands_of_help); do dlock __complete "$command" -- | cut -f 1; done
}

@test "each long option of a command is in dlock(1), and back" {
  # Other names of an option are in the page alone.
  same_lists options "$(options_of_all | sort -u)" \
    "$(options_of_page | grep -vxE -- '--(nb|try|timeout)')"
}

@test "the other names of options that dlock(1) tells are understood" {
  dlock run --nb k -- true
  dlock run --timeout 5s k -- true
}

@test "each environment variable of --help is in dlock(1)" {
  for variable in $(all_help | grep -oE 'DLOCK_[A-Z_]+' | sort -u); do
    grep -q "\*$variable\*" "$page" || { echo "$variable is not in the page"; return 1; }
  done
}

# bats test_tags=all
@test "each environment variable that dlock(1) tells is set for the command or read by dlock" {
  set_for_command=$(dlock run k -- env | grep -oE '^DLOCK_[A-Z]+' | sort -u)
  in_help=$(all_help | grep -oE 'DLOCK_[A-Z_]+' | sort -u)
  for variable in $(grep -oE '\*DLOCK_[A-Z_]+\*' "$page" | tr -d '*' | sort -u); do
    grep -qx "$variable" <<<"$set_for_command
$in_help" || { echo "$variable is only in the page"; return 1; }
  done
}

@test "each command of the overview is in dlock(1), and back" {
  for command in $(commands_of_help); do
    grep -qE "^\*${command}[* ]|\*dlock ${command}\*" "$page" || { echo "$command is not in the page"; return 1; }
  done
  for command in $(sed -n '/^# COMMANDS/,/^# OPTIONS/p' "$page" | sed -nE 's/^\*([a-z-]+).*/\1/p' | sort -u); do
    dlock help "$command" >/dev/null || { echo "dlock help $command does not know it"; return 1; }
  done
}

@test "the exit statuses of dlock(1) are those of the program" {
  in_code=$(sed -nE 's/.*(return|kExit[A-Za-z]+ =) ([0-9]+);.*/\2/p' "$root/cmd/show/exit_status.h" | grep -vx 0 | sort -nu)
  in_page=$(sed -n '/^# EXIT STATUS/,/^# ENVIRONMENT/p' "$page" | sed -nE 's/^[]|]\[ ([1-9][0-9]*)$/\1/p')
  same_lists statuses "$in_code" "$in_page"
}

@test "each key of dlock.toml(5) is one that dlock takes" {
  mkdir -p "$HOME/.config/dlock"
  section=
  values() { # KEY: a value that fits
    case $1 in
      fair | quiet | allow-network-fs) echo true ;;
      tries | permits) echo 3 ;;
      conflict-exit-code) echo 75 ;;
      on-lost) echo '"term"' ;;
      if-unavailable) echo '"fail"' ;;
      progress | color) echo '"auto"' ;;
      log-format) echo '"text"' ;;
      fallback) echo '"local:/nowhere"' ;;
      url | backend) echo '"local:/nowhere"' ;;
      ttl) echo '"20s"' ;;
      events) echo '"off"' ;;
      *) echo '"2s"' ;;
    esac
  }
  while IFS= read -r line; do
    case $line in
      '## [defaults]') section='[defaults]' ;;
      '## [backend.NAME]') section='[backend.example]' ;;
      '## [key."PATTERN"]') section='[key."example/*"]' ;;
      '# URLS') break ;;
      \**)
        [ "$section" ] || continue
        for key in $(grep -oE '\*[a-z-]+\*' <<<"$line" | tr -d '*'); do
          { echo "$section"; [ "$section" != '[backend.example]' ] || [ "$key" = url ] || echo 'url = "local:/nowhere"'; echo "$key = $(values "$key")"; } >"$stage/one.toml"
          run dlock config check --config "$stage/one.toml"
          [ "$status" = 0 ] || { cat "$stage/one.toml"; echo "$output"; return 1; }
        done
        ;;
    esac
  done <"$root/man/dlock.toml.5.scd"
  [ "$section" = '[key."example/*"]' ]
}

@test "each JSON schema of dlock-json(5) is printed, with the fields that the page names" {
  dlock acquire --ttl 1m k --json >acquire.json
  owner=$(jq -r .owner acquire.json)
  token=$(jq -r .token acquire.json)
  dlock renew --owner "$owner" k --json >renew.json
  dlock check k "$token" --json >check.json
  dlock inspect k --json >inspect.json
  dlock revoke --json unheld >revoke.json
  dlock force-release --yes k --json >force-release.json
  dlock hold k --json </dev/null >hold.json
  dlock run --report report.json k -- true
  dlock run --events ./event.json k -- true
  dlock run --once s --at-least 10s --report kept.json --events ./event.json kept -- true
  cat kept.json >>report.json
  dlock inspect --json kept >>inspect.json
  dlock history --events ./event.json --json >history.json
  dlock inspect --events ./event.json k --json >>inspect.json
  dlock doctor --json >doctor.json || true
  dlock ping --json >ping.json
  dlock setup --print --json >setup.json
  dlock version --json >version.json
  for _ in {1..200}; do # until the force-released holder has ended
    dlock gc --json >gc.json
    [ ! -s gc.json ] || break
    sleep 0.05
  done
  dlock bench --count 20 --json >bench.json
  owner=$(dlock acquire --ttl 1m other --json | jq -r .owner)
  dlock release --owner "$owner" other --json >release.json
  dlock release --slot s kept --json >>release.json
  dlock fence --json r 5 >fence.json
  dlock config show --json >config.json
  dlock config check --json >config_check.json
  dlock stock create s --quantity 3 --json >stock.create.json
  dlock stock show s --json >stock.json
  dlock stock take s --id a --qty 2 --json >stock.take.json
  dlock stock refund s --id a --qty 1 --refund-id r --json >stock.refund.json
  dlock stock add s --qty 1 --json >stock.add.json
  dlock stock show s --requests --json >stock.request.json
  echo 'take b' | dlock stock batch s --json >stock.batch.json
  dlock stock resize s --segments 2 --json >stock.resize.json
  dlock stock rebalance s --json >stock.rebalance.json
  dlock stock drop s --yes --json >stock.drop.json
  dlock --log-format json check k 1 2>log.json || true
  schemas=$(grep -oE '\*dlock\.(stock\.)?[a-z_-]+/[12]\*' "$root/man/dlock-json.5.scd" | tr -d '*' | sort -u)
  [ "$(wc -l <<<"$schemas")" -ge 11 ]
  for schema in $schemas; do
    name=${schema#dlock.}
    [ "$(head -n 1 "${name%/?}.json" | jq -r .schema)" = "$schema" ] || { echo "$schema is not printed"; return 1; }
  done
  [ "$(jq -r .schema config_check.json)" = dlock.config.check/1 ]
  for name in inspect report acquire event history renew release fence check doctor log stock; do
    for field in $(sed -n "/^\*dlock\.$name\/[12]\*/,/^$/p" "$root/man/dlock-json.5.scd" | sed 1d | grep -oE '\*[a-z_]+\*' | tr -d '*' | sort -u); do
      grep -qE "\"$field\"" "$name.json" || absent+="$name.$field "
    done
  done
  # Those that only sometimes are there, and the values that the page lists.
  for word in inspect.permits inspect.slot inspect.at_least_ms report.slot acquire.slot inspect.note inspect.stopped inspect.renewed inspect.directory_of inspect.waiters_known inspect.more_waiters inspect.false inspect.exclusive inspect.shared release.false report.locks report.why report.ran report.busy report.unavailable \
    report.lost report.overheld report.exec_failed report.interrupted report.short report.repeated report.id report.qty report.parts report.wanted report.left stock.locked_by doctor.ok doctor.warn doctor.fail log.warning log.notice log.verbose \
    log.busy log.unavailable log.overheld log.invalid log.misconfigured log.unsupported log.denied log.conflict log.short log.repeated log.system log.internal log.cancelled log.free \
    history.expired history.withdrawn history.unavailable history.refused history.unlocked history.waiting history.held history.unseen \
    event.slot event.holder event.why event.lease event.until event.reentered event.waiting event.unreached event.reached event.unrenewed event.lost event.signalled event.ended event.busy \
    event.withdrawn event.unavailable event.refused event.unlocked event.renewed event.revoked event.force-released event.journald \
    log.waiting log.got log.unreached log.reached log.fallback log.unlocked log.release_unconfirmed log.step log.note; do
    absent=${absent/"$word "/}
  done
  [ -z "$absent" ] || { echo "not printed: $absent"; return 1; }
}

# bats test_tags=all
@test "each JSON schema that the program prints is in dlock-json(5)" {
  schemas=$(grep -rhoE '"dlock\.[a-z._-]+/[12]' "$root/cmd" "$root/lib" "$root/backends" | tr -d '"' | sort -u)
  [ "$(wc -l <<<"$schemas")" -ge 15 ]
  for schema in $schemas; do
    grep -qF "*$schema*" "$root/man/dlock-json.5.scd" || { echo "$schema is not in the page"; return 1; }
  done
}

@test "the man pages have no errors" {
  for page in "$root"/man/*.scd; do
    name=$(basename "$page" .scd)
    SOURCE_DATE_EPOCH=0 scdoc <"$page" >"$stage/$name"
    mandoc -T lint -W error "$stage/$name"
    mandoc -T utf8 "$stage/$name" >"$stage/$name.txt"
    [ "$(wc -l <"$stage/$name.txt")" -gt 50 ]
  done
}

@test "the pages have at most 20,000 words, dlock(1) at most 600 lines, and a NAME as man -k shows it" {
  [ "$(cat "$root"/man/*.scd | wc -w)" -le 20000 ]
  [ "$(wc -l <"$page")" -le 600 ]
  for page in "$root"/man/*.scd; do # no marks and no -- in it: they get lost
    name=$(basename "$page")
    sed -n '/^# NAME$/{n;n;p}' "$page" | grep -qE "^${name%.?.scd} - [^*_-]+$" || { echo "$name"; return 1; }
  done
}

# bats test_tags=all
@test "the programs and pages that a man page sends its reader to exist" {
  for name in $(grep -ohE '\*dlock[a-z.-]*\*\([0-9]\)' "$root"/man/*.scd | tr -d '*' | sort -u); do
    [ -e "$root/man/$(sed -E 's/\(([0-9])\)/.\1.scd/' <<<"$name")" ] || { echo "there is no page $name"; return 1; }
  done
}
