// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "cmd/options/completion_words.h"
#include "cmd/options/options.h"
#include "cmd/options/stock_actions.h"

namespace dlock {

std::string names_of(const CommandRow& row, char between) {
  std::string names(row.name);
  for_each_word(row.aliases, [&](std::string_view alias) { names.append(1, between).append(alias); });
  return names;
}

std::string value_words(const OptionRow& row) {
  std::string words;
  if (row.kind == ValueKind::kChoice) {
    for_each_word(row.value, [&](std::string_view one) { words.append(words.empty() ? "" : " ").append(one); });
  }
  if (row.id == OptionId::kOnLost) words = "term kill ignore signal:USR1 signal:HUP";
  if (row.id == OptionId::kEvents) words = "journald syslog fd:3 off";
  if (row.id == OptionId::kReport) words = "fd:3";
  if (row.id == OptionId::kFaults) words = "all none kill stop cut stall delay oneway";
  return words;
}

bool takes_keys(const CommandRow& row) {
  return row.shape == Operands::kKeysAndCommand || row.shape == Operands::kOneKey || row.shape == Operands::kAnyKeys ||
         row.shape == Operands::kKeyAndToken;
}

std::string operand_words(const CommandRow& row) {
  if (row.shape == Operands::kOneWord || row.shape == Operands::kMaybeWord || row.shape == Operands::kStock ||
      row.shape == Operands::kConfig)
    return std::string(row.words);
  std::string words;
  if (row.shape != Operands::kMaybeCommand) return words;
  for (const CommandRow& one : command_rows()) {
    if (!one.group.empty()) words.append(words.empty() ? "" : " ").append(one.name);
  }
  return words;
}

std::string action_words() {
  std::string words;
  for (const StockActionRow& action : stock_action_rows()) words.append(words.empty() ? "" : " ").append(action.name);
  return words;
}

namespace {

/// `text` with each of `special` behind a backslash, and single quotes as `quote` wants them.
std::string escaped(std::string_view text, std::string_view special, std::string_view quote) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += quote;
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionRow& row, std::string_view about) {
  const std::string name = "--" + std::string(row.name);
  const std::string help = "[" + escaped(about, "[]:\\", "'\\''") + "]";
  std::string value;
  if (row.kind != ValueKind::kFlag) {
    const std::string words = value_words(row);
    value = ":" + escaped(row.value, "[]:\\", "'\\''") + ":";
    const bool file = row.kind == ValueKind::kFile;
    if (file && !words.empty()) {
      value += "{compadd -- " + escaped(words, ":", "") + "; _files}";
    } else if (!words.empty()) {
      value += "(" + escaped(words, ":", "") + ")";
    } else if (file) {
      value += "_files";
    } else if (row.kind == ValueKind::kBackend) {
      value += "_dlock_backends";
    }
  }
  const std::string equals = row.kind == ValueKind::kFlag ? "" : "=";
  if (row.letter == 0) return "    '" + std::string(row.repeats ? "*" : "") + name + equals + help + value + "'\n";
  const std::string letter = std::string("-") + row.letter;
  const std::string once = row.repeats ? "'*'" : "'(" + letter + " " + name + ")'";
  return "    " + once + "{" + letter + (equals.empty() ? "" : "+") + "," + name + equals + "}'" + help + value + "'\n";
}

/// Of a Command, or of a StockActionRow.
template <typename Of>
std::string zsh_options(Command command, const Of& of) {
  std::string options;
  for (const OptionRow& row : option_rows()) {
    if (has_option(of, row)) options += zsh_option(row, help_in(command, row));
  }
  return options;
}

/// Behind an action of `dlock stock` only its own options.
std::string zsh_action_cases() {
  std::string cases;
  for (const StockActionRow& action : stock_action_rows()) {
    cases += "    (" + std::string(action.name) + ") options=(\n" + zsh_options(Command::kStock, action) + "    ) ;;\n";
  }
  return cases;
}

std::string zsh_script() {
  std::string commands;
  std::string cases;
  for (const CommandRow& row : command_rows()) {
    if (row.group.empty()) continue;
    commands += "    '" + std::string(row.name) + ":" + escaped(row.summary, ":\\", "'\\''") + "'\n";
    cases += "  (" + names_of(row, '|') + ") options=(\n" + zsh_options(row.command, row.command);
    const std::string words = operand_words(row);
    if (row.shape == Operands::kStock) {
      cases += "    )\n    case $action in\n" + zsh_action_cases() + "    esac\n";
      cases += "    options+=('1:action:(" + words + ")' '*:stock:_dlock_live stocks') ;;\n";
    } else if (row.shape == Operands::kMaybeCommand) {
      cases += "    '1:command:(" + words + ")' '2:action:{[[ $words[2] == stock ]] && compadd -- " + action_words() +
               "}') ;;\n";
    } else if (row.shape == Operands::kConfig) {
      cases += "    '1:word:(" + words + ")' '2:key:{[[ $words[2] == show ]] && _dlock_live keys}') ;;\n";
    } else if (takes_keys(row)) {
      cases += "    '*:key:_dlock_live keys') ;;\n";
    } else {
      cases += "    '*:" + (words.empty() ? std::string("word: ") : "word:(" + words + ")") + "') ;;\n";
    }
  }
  std::string general;
  for (const OptionRow& option : option_rows()) {
    if (option.anywhere) general += zsh_option(option, option.help);
  }
  return "#compdef dlock\n"
         "_dlock_backends() {\n"
         "  compadd -- local: ${(f)\"$(dlock $dlock_files __complete backends 2>/dev/null)\"}\n"
         "}\n"
         "_dlock_live() {\n"
         "  compadd \"${(@)argv[1,-2]}\" -- ${(f)\"$(dlock $dlock_where __complete $argv[-1] 2>/dev/null)\"}\n"
         "}\n"
         "_dlock() {\n"
         "  local -a commands options dlock_where dlock_files\n"
         "  local command= action=; integer i at=0\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    case $words[i] in\n"
         "    (-b|--backend) dlock_where+=($words[i] $words[i+1]); ((i++)) ;;\n"
         "    (-C|--config) dlock_where+=($words[i] $words[i+1]); dlock_files+=($words[i] $words[i+1]); ((i++)) ;;\n"
         "    (--backend=*) dlock_where+=($words[i]) ;;\n"
         "    (--config=*) dlock_where+=($words[i]); dlock_files+=($words[i]) ;;\n"
         "    (--color|--colour|--log-format) [[ -n $command ]] || ((i++)) ;;\n"
         "    (--) # what stands behind is a command line of its own\n"
         "      words=(\"${(@)words[i+1,-1]}\"); ((CURRENT -= i)); _normal; return ;;\n"
         "    (-*) ;;\n"
         "    (*) if [[ -z $command ]]; then command=$words[i]; at=i; elif [[ -z $action ]]; then action=$words[i]; fi "
         ";;\n"
         "    esac\n"
         "  done\n"
         "  if [[ -z $command ]]; then\n"
         "    options=(\n" +
         general +
         "    )\n"
         "    _arguments -s : $options '*:command:{_describe command commands}'\n"
         "    return\n"
         "  fi\n"
         "  words=(\"${(@)words[at,-1]}\"); ((CURRENT -= at - 1))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "  _arguments -s : $options\n"
         "}\n"
         "if [[ $funcstack[1] == _dlock ]]; then _dlock \"$@\"; else compdef _dlock dlock; fi\n";
}

std::string fish_option(const OptionRow& row, std::string_view help, const std::string& condition) {
  std::string line = "complete -c dlock -n '" + condition + "'";
  if (row.letter != 0) line += std::string(" -s ") + row.letter;
  line += " -l " + std::string(row.name);
  if (row.kind == ValueKind::kFile) line += " -r -F";
  else if (row.kind == ValueKind::kBackend) line += " -x -a 'local: (__dlock_backends)'";
  else if (row.kind != ValueKind::kFlag) line += " -x";
  if (const std::string words = value_words(row); !words.empty()) line += " -a '" + words + "'";
  return line + " -d '" + escaped(help, "\\", "\\'") + "'\n";
}

/// "; and not" behind an action of `dlock stock` that has no such option.
std::string fish_other_actions(const OptionRow& option) {
  std::string condition = "; and not __fish_seen_subcommand_from";
  for (const StockActionRow& action : stock_action_rows()) {
    if (!has_option(action, option)) condition.append(" ").append(action.name);
  }
  return condition;
}

std::string fish_script() {
  std::string out =
      "# fish completion for dlock\n"
      "function __dlock_behind_dashes\n"
      "    contains -- -- (commandline -opc)\n"
      "end\n"
      "function __dlock_child\n"
      "    set -l words (commandline -opc)\n"
      "    set -l at (contains -i -- -- $words)\n"
      "    set -e words[1..$at]\n"
      "    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))\n"
      "end\n"
      "# Is the command one of these?\n"
      "function __dlock_in\n"
      "    set -l words (commandline -opc)\n"
      "    set -e words[1]\n"
      "    while set -q words[1]\n"
      "        switch $words[1]\n"
      "            case -b --backend -C --config --color --colour --log-format\n"
      "                set -e words[1]\n"
      "            case '-*'\n"
      "            case '*'\n"
      "                contains -- $words[1] $argv\n"
      "                return\n"
      "        end\n"
      "        set -e words[1]\n"
      "    end\n"
      "    return 1\n"
      "end\n"
      "# Of the store that the command line names.\n"
      "function __dlock_live\n"
      "    set -l words (commandline -opc)\n"
      "    set -l where\n"
      "    for i in (seq 2 (count $words))\n"
      "        switch $words[$i]\n"
      "            case -b --backend -C --config\n"
      "                set -a where $words[$i] $words[(math $i + 1)]\n"
      "            case '--backend=*' '--config=*'\n"
      "                set -a where $words[$i]\n"
      "        end\n"
      "    end\n"
      "    dlock $where __complete $argv[1] 2>/dev/null\n"
      "end\n"
      "# Of the file that the command line names.\n"
      "function __dlock_backends\n"
      "    set -l words (commandline -opc)\n"
      "    set -l files\n"
      "    for i in (seq 2 (count $words))\n"
      "        switch $words[$i]\n"
      "            case -C --config\n"
      "                set -a files $words[$i] $words[(math $i + 1)]\n"
      "            case '--config=*'\n"
      "                set -a files $words[$i]\n"
      "        end\n"
      "    end\n"
      "    dlock $files __complete backends 2>/dev/null\n"
      "end\n"
      "complete -c dlock -f\n"
      "complete -c dlock -n __dlock_behind_dashes -a '(__dlock_child)'\n";
  std::string every;
  for (const CommandRow& row : command_rows()) {
    if (row.group.empty()) continue;
    every.append(every.empty() ? "" : " ").append(names_of(row, ' '));
  }
  const std::string none = "not __dlock_in " + every;
  for (const CommandRow& row : command_rows()) {
    if (row.group.empty()) continue;
    out += "complete -c dlock -n '" + none + "' -a " + std::string(row.name) + " -d '" +
           escaped(row.summary, "\\", "\\'") + "'\n";
    const std::string seen = "__dlock_in " + names_of(row, ' ') + "; and not __dlock_behind_dashes";
    for (const OptionRow& option : option_rows()) {
      if (!has_option(row.command, option) || option.anywhere) continue;
      std::string condition = seen;
      if (row.shape == Operands::kStock && is_of_some_actions(option)) condition += fish_other_actions(option);
      out += fish_option(option, help_in(row.command, option), condition);
    }
    const std::string words = operand_words(row);
    if (row.shape == Operands::kStock) {
      const std::string chosen = "__fish_seen_subcommand_from " + words;
      out += "complete -c dlock -n '" + seen + "; and not " + chosen + "' -a '" + words + "'\n";
      out += "complete -c dlock -n '" + seen + "; and " + chosen + "' -a '(__dlock_live stocks)'\n";
    } else if (takes_keys(row)) {
      out += "complete -c dlock -n '" + seen + "' -a '(__dlock_live keys)'\n";
    } else if (row.shape == Operands::kMaybeCommand) {
      const std::string chosen = "__fish_seen_subcommand_from " + words;
      out += "complete -c dlock -n '" + seen + "; and not " + chosen + "' -a '" + words + "'\n";
      out += "complete -c dlock -n '" + seen + "; and __fish_seen_subcommand_from stock' -a '" + action_words() + "'\n";
    } else if (row.shape == Operands::kConfig) {
      const std::string chosen = "__fish_seen_subcommand_from " + words;
      out += "complete -c dlock -n '" + seen + "; and not " + chosen + "' -a '" + words + "'\n";
      out += "complete -c dlock -n '" + seen + "; and __fish_seen_subcommand_from show' -a '(__dlock_live keys)'\n";
    } else if (!words.empty()) {
      out += "complete -c dlock -n '" + seen + "' -a '" + words + "'\n";
    }
  }
  for (const OptionRow& option : option_rows()) {
    if (option.anywhere) out += fish_option(option, option.help, "not __dlock_behind_dashes");
  }
  return out;
}

}  // namespace

Result<std::string> completion_script(const std::string& shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return Error{ErrorCode::kInvalid, "no completion for '" + shell + "'", "there are bash, zsh and fish"};
}

}  // namespace dlock
