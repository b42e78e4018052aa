# SPDX-License-Identifier: Apache-2.0
# The completion scripts load in their shells, and offer what can come next.
bats_require_minimum_version 1.5.0
load helper
load ../support/stores

setup() {
  set_stage
  export HOME=$stage XDG_CONFIG_HOME=$stage XDG_DATA_HOME=$stage TERM=dumb
}

# What bash offers for a command line whose last word is being typed.
in_bash() { # WORD...
  bash --norc -c '
    source <(dlock completion bash)
    COMP_WORDS=("$@") COMP_LINE=$*
    COMP_CWORD=$(($# - 1))
    _dlock 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' completion "$@"
}

# On a terminal, as bash cuts the words of LINE itself.
at_bash() { # LINE EXPECTED
  /usr/bin/python3 "$root/tests/support/terminal.py" 'send:PS1=ready%; source <(dlock completion bash)\n' 'expect:\nready%' "send:$1\t" "expect:$2" 'send:\x15\x04' \
    -- sh -c 'stty columns 1000 && exec bash --norc -i' || [ $? != 99 ]
}

in_fish() { # LINE
  fish --no-config -c 'dlock completion fish | source; complete -C "$argv[1]"' "$1"
}

set_zsh() {
  dlock completion zsh >"$stage/_dlock"
  zsh_rc=$stage/zdot
  mkdir "$zsh_rc"
  printf 'fpath=(%s $fpath); autoload -Uz compinit; compinit -u -d %s/dump; PS1="ready%%%% "\n' "$stage" "$stage" >"$zsh_rc/.zshrc"
}
in_zsh() { # LINE EXPECTED: on a terminal where no line is broken, however long the paths are
  ZDOTDIR=$zsh_rc TERM=vt100 /usr/bin/python3 "$root/tests/support/terminal.py" 'expect:ready%' "send:$1\\t" "expect:$2" 'send:\x15\x04' \
    -- sh -c 'stty columns 1000 && exec zsh -i' || [ $? != 99 ]
}

@test "bash: commands, options, values and the names of backends" {
  [[ $'\n'"$(in_bash dlock r)"$'\n' == *$'\nrun\n'* ]]
  [ "$(in_bash dlock run --on-lost t)" = term ]
  [ "$(in_bash dlock run --non)" = --nonblock ]
  [ "$(in_bash dlock completion z)" = zsh ]
  mkdir -p "$stage/dlock"
  printf '[backend.warehouse]\nurl = "local:/srv/locks"\n' >"$stage/dlock/config.toml"
  [ "$(in_bash dlock run -b ware)" = warehouse ]
}

@test "bash: behind -- it is the command that is completed" {
  touch "$stage/only-this-file"
  [ "$(in_bash dlock run k -- cat only-)" = only-this-file ]
}

# Live keys and stocks in $store, which the command line has to name.
hold_some() {
  store=local:$stage/store
  mkdir "$stage/store"
  dlock stock create -b "$store" phone --quantity 1
  dlock acquire -b "$store" --ttl 1m deploy/prod
  dlock acquire -b "$store" --ttl 1m 'not one word'
}

@test "bash: live keys of the store that is named, actions of stock before the names of stocks" {
  hold_some
  [ "$(in_bash dlock inspect -b "$store" dep)" = deploy/prod ]
  [ "$(in_bash dlock run --wait 5s --backend="$store" "")" = deploy/prod ]
  [ -z "$(in_bash dlock inspect dep)" ]
  [ "$(in_bash dlock stock ta)" = take ]
  [ "$(in_bash dlock -b "$store" stock take ph)" = phone ]
  [ -z "$(in_bash dlock stock -b "$store" take re)" ]
}

@test "bash: an option that has a value in another command, other names of options, a file of backends, and keys behind show" {
  hold_some
  mkdir "$stage/here"
  cd "$stage/here"
  touch deploy-file
  [ "$(in_bash dlock history -b "$store" --svg dep)" = deploy/prod ]
  [ "$(in_bash dlock --color always ru)" = run ]
  [ "$(in_bash dlock inspect -b "$store" --color al)" = always ]
  printf '[backend.depot]\nurl = "%s"\n' "$store" >mine.toml
  [ "$(in_bash dlock -C mine.toml inspect -b dep)" = depot ]
  [ "$(in_bash dlock --config=mine.toml inspect -b dep)" = depot ]
  [ "$(in_bash dlock config s)" = show ]
  [ "$(in_bash dlock config show -b "$store" dep)" = deploy/prod ]
  [ -z "$(in_bash dlock config show -b "$store" s)" ]
  [ -z "$(in_bash dlock config check -b "$store" '')" ]
}

# bats test_tags=all
@test "bash on a terminal: stores and keys with colons in them" {
  hold_some
  dlock acquire -b "$store" --ttl 1m app:orders
  at_bash "dlock inspect -b $store app:o" 'app:orders '
  at_bash "dlock run --backend=$store -n ap" 'ap+:orders '
  at_bash "dlock run --on-lost signal:U" 'signal:USR1 '
  at_bash "dlock inspect -b local: --js" '--json '
}

@test "bash and fish: a command and an action of stock have the options of their help" {
  local words offered
  # In the short help some are left out, which the manual has.
  local rare='--(tries|retry-interval|close|lock-delay|connect-timeout)'
  options_in_help() { (dlock help "$@"; dlock help options) | grep -oE '^ {2,6}(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort; }
  for words in run acquire history 'stock' stock\ {create,show,take,batch,run,refund,add,rebalance,resize,drop}; do
    # shellcheck disable=SC2086
    offered=$(in_bash dlock $words --)
    # shellcheck disable=SC2086
    diff <(sort <<<"$offered" | grep -vxE -- "$rare") <(options_in_help $words | grep -vxE -- "$rare")
  done
  [ "$(in_bash dlock stock take phone --re)" = "" ]
  [ "$(in_fish 'dlock stock take phone --re')" = "" ]
  [ "$(in_fish 'dlock stock run phone --re' | cut -f 1 | xargs)" = --report ]
  [[ "$(in_fish 'dlock stock --re')" == *--refund-id* ]]
}

@test "live keys are waited for 300 ms at the most" {
  /usr/bin/python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(20)' >"$stage/port" 3>&- &
  until [ -s "$stage/port" ]; do sleep 0.1; done
  while read -r _ url <&4; do
    run -0 timeout 5 dlock __complete inspect -b "$url" ""
    [ -z "$output" ]
  done 4< <(first_url_of_each "127.0.0.1:$(cat "$stage/port")")
  kill %1
}

# bats test_tags=all
@test "fish: live keys of the store that is named, actions of stock before the names of stocks" {
  hold_some
  [ "$(in_fish "dlock inspect -b $store dep")" = deploy/prod ]
  [[ "$(in_fish "dlock stock ta")" == take$'\t'* ]]
  [ "$(in_fish "dlock stock take --backend=$store ph")" = phone ]
}

# bats test_tags=all
@test "fish and zsh: a file of backends, and keys behind show" {
  hold_some
  printf '[backend.depot]\nurl = "%s"\n' "$store" >"$stage/mine.toml"
  [[ "$(in_fish "dlock -C $stage/mine.toml inspect -b dep")" == depot* ]]
  [ "$(in_fish "dlock config show -b $store dep")" = deploy/prod ]
  [ -z "$(in_fish "dlock config show -b $store chec")" ]
  set_zsh
  in_zsh "dlock -C $stage/mine.toml inspect -b dep" 'depot'
  in_zsh "dlock config show -b $store dep" 'deploy/prod'
}

# bats test_tags=all
@test "zsh: live keys of the store that is named, actions of stock before the names of stocks" {
  hold_some
  set_zsh
  in_zsh "dlock inspect -b $store dep" 'deploy/prod'
  in_zsh "dlock stock ta" 'stock take'
  in_zsh "dlock stock take --backend=$store ph" 'phone'
  in_zsh "dlock stock refund phone --refun" 'refund-id'
}

@test "fish: commands, options and values" {
  in_fish 'dlock ru' | grep -q '^run'
  in_fish 'dlock run --nonb' | grep -q '^--nonblock'
  in_fish 'dlock run --progress ' | grep -q '^always'
}

@test "what is offered for --events, and behind help, is what dlock takes, and all of it" {
  hold_some
  local word words kinds='fd:3 journald off'
  words=$(in_bash dlock run --events '' | sort | xargs)
  for word in $kinds; do [[ " $words " == *" $word "* ]]; done
  for word in $kinds; do dlock run -b "$store" --events "$word" k -- true 3>/dev/null; done
  for word in $(in_bash dlock help ''); do dlock help "$word" >/dev/null; done
  [ "$(in_bash dlock help stock '' | sort)" = "$(in_bash dlock stock '' | sort)" ]
  for word in $(in_bash dlock help stock ''); do dlock help stock "$word" >/dev/null; done
  [ -z "$(in_bash dlock help stock take '')" ]
  [ -z "$(in_bash dlock help run '')" ]
}

# bats test_tags=all
@test "fish and zsh: kinds of --events, actions behind help stock" {
  [[ "$(in_fish 'dlock run --events journ')" == journald* ]]
  [[ "$(in_fish 'dlock help stock rebal')" == rebalance* ]]
  set_zsh
  in_zsh "dlock run --events journ" 'journald'
  in_zsh "dlock help stock rebal" 'stock rebalance'
}

@test "zsh: the script parses, and is one that compinit loads" {
  dlock completion zsh >"$stage/_dlock"
  zsh -fn "$stage/_dlock"
  [ "$(head -n 1 "$stage/_dlock")" = "#compdef dlock" ]
  zsh -fc 'fpath=("$1" $fpath); autoload -Uz compinit; compinit -u -d "$1/dump"; [[ $_comps[dlock] == _dlock ]]' zsh "$stage"
}
