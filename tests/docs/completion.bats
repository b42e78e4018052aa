# SPDX-License-Identifier: Apache-2.0
# The completion scripts load in their shells, and offer what can come next.
bats_require_minimum_version 1.5.0
load helper

setup() {
  set_stage
  export HOME=$stage XDG_CONFIG_HOME=$stage XDG_DATA_HOME=$stage TERM=dumb
}

# What bash offers for a command line whose last word is being typed.
in_bash() { # WORD...
  bash --norc -c '
    source <(dlock completion bash)
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _dlock 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' completion "$@"
}

in_fish() { # LINE
  fish --no-config -c 'dlock completion fish | source; complete -C "$argv[1]"' "$1"
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

@test "fish: commands, options and values" {
  in_fish 'dlock ru' | grep -q '^run'
  in_fish 'dlock run --nonb' | grep -q '^--nonblock'
  in_fish 'dlock run --progress ' | grep -q '^always'
}

@test "zsh: the script parses, and is one that compinit loads" {
  dlock completion zsh >"$stage/_dlock"
  zsh -fn "$stage/_dlock"
  [ "$(head -n 1 "$stage/_dlock")" = "#compdef dlock" ]
  zsh -fc 'fpath=("$1" $fpath); autoload -Uz compinit; compinit -u -d "$1/dump"; [[ $_comps[dlock] == _dlock ]]' zsh "$stage"
}
