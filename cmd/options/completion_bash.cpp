// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "cmd/options/completion_words.h"
#include "cmd/options/stock_actions.h"

namespace dlock {
namespace {

/// "--wait|-w" of every option for which `chosen` says so.
template <typename Chosen>
std::string bash_patterns(Chosen chosen, char between = '|') {
  std::string patterns;
  for (const OptionRow& row : option_rows()) {
    if (!chosen(row)) continue;
    patterns.append(patterns.empty() ? 0 : 1, between).append("--").append(row.name);
    if (row.letter != 0) patterns.append(1, between).append("-").append(1, row.letter);
  }
  return patterns;
}

/// "--color|--colour"
std::string bash_names(const OptionRow& row) {
  std::string names = "--" + std::string(row.name);
  if (row.letter != 0) names += std::string("|-") + row.letter;
  for (const OptionAlias& alias : option_aliases()) {
    if (alias.id == row.id) names.append("|--").append(alias.name);
  }
  return names;
}

/// Another option of this name, in other commands, has no value.
bool is_flag_elsewhere(const OptionRow& row) {
  const auto rows = option_rows();
  return row.kind != ValueKind::kFlag && std::any_of(rows.begin(), rows.end(), [&](const OptionRow& other) {
           return other.name == row.name && other.kind == ValueKind::kFlag;
         });
}

/// "verify|stock" of the commands that have it.
std::string bash_commands(const OptionRow& row) {
  std::string names;
  for (const CommandRow& command : command_rows()) {
    if (has_option(command.command, row)) names.append(names.empty() ? "" : "|").append(names_of(command, '|'));
  }
  return names;
}

/// Of all options for which `chosen` says so, whatever the command.
template <typename Chosen>
std::string bash_values(Chosen chosen) {
  std::string patterns;
  for (const OptionRow& row : option_rows()) {
    if (chosen(row) && !is_flag_elsewhere(row)) patterns.append(patterns.empty() ? "" : "|").append(bash_names(row));
  }
  return patterns;
}

/// Those of a Command, or of a StockActionRow.
template <typename Of>
std::string bash_options(const Of& of) {
  return bash_patterns([&](const OptionRow& row) { return has_option(of, row); }, ' ');
}

/// Behind an action of `dlock stock` only its own options.
std::string bash_action_cases() {
  std::string cases;
  for (const StockActionRow& action : stock_action_rows()) {
    cases += "    'stock " + std::string(action.name) + "') options='" + bash_options(action) + "' ;;\n";
  }
  return cases;
}

bool names_backend(const OptionRow& row) { return row.kind == ValueKind::kBackend; }

std::string bash_value_cases() {
  std::string out;
  const auto add = [&](const std::string& patterns, const std::string& reply) {
    out += "    " + patterns + ") COMPREPLY=($(compgen " + reply + " -- \"$cur\")); return 0 ;;\n";
  };
  for (const OptionRow& row : option_rows()) {
    const std::string words = value_words(row);
    const char* files = row.kind == ValueKind::kFile ? "-f " : "";
    if (!words.empty()) add(bash_names(row), files + ("-W '" + words + "'"));
  }
  add(bash_values(names_backend), "-W \"local: $(dlock \"${files[@]}\" __complete backends 2>/dev/null)\"");
  add(bash_values([](const OptionRow& row) { return row.kind == ValueKind::kFile; }), "-f");
  for (const OptionRow& row : option_rows()) {
    if (!is_flag_elsewhere(row)) continue;
    out += "    " + bash_names(row) + ") case $command in " + bash_commands(row) +
           ") COMPREPLY=($(compgen -f -- \"$cur\")); return 0 ;; esac ;;\n";
  }
  const auto unknown = [](const OptionRow& row) {
    return row.kind == ValueKind::kDuration || row.kind == ValueKind::kNumber ||
           (row.kind == ValueKind::kText && value_words(row).empty());
  };
  return out + "    " + bash_values(unknown) + ") return 0 ;;\n";
}

/// Walks over the words before the one that is typed.
std::string bash_scan() {
  const auto takes_value = [](const OptionRow& row) { return row.kind != ValueKind::kFlag; };
  std::string sometimes;
  for (const OptionRow& row : option_rows()) {
    if (!is_flag_elsewhere(row)) continue;
    sometimes += "      " + bash_names(row) + ") case $command in " + bash_commands(row) + ") ((i++)) ;; esac ;;\n";
  }
  return "  for ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
         "    case ${words[i]} in\n"
         "      --backend|-b|--config|-C) # whose keys are meant\n"
         "        where+=(\"${words[i]}\" \"${words[i+1]}\")\n"
         "        [[ ${words[i]} == *b* ]] || files+=(\"${words[i]}\" \"${words[i+1]}\")\n"
         "        ((i++)) ;;\n"
         "      --backend=*) where+=(\"${words[i]}\") ;;\n"
         "      --config=*) where+=(\"${words[i]}\") files+=(\"${words[i]}\") ;;\n" +
         sometimes + "      " + bash_values(takes_value) +
         ") ((i++)) ;;\n"
         "      --)\n"
         "        # What stands behind is a command line of its own.\n"
         "        if declare -F _command_offset >/dev/null; then _command_offset $((at[i] + 1))\n"
         "        elif ((i + 2 == ${#words[@]})); then COMPREPLY=($(compgen -c -- \"$cur\"))\n"
         "        else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
         "        return 1 ;;\n"
         "      -*) ;;\n"
         "      *) if [[ ! $command ]]; then command=${words[i]}; elif [[ ! $action ]]; then action=${words[i]}; else "
         "more=1; fi ;;\n"
         "    esac\n"
         "  done\n";
}

/// bash has cut the words at = and :, and of a word with : in it replaces what stands behind the last one.
constexpr char kBashWords[] =
    "_dlock() {\n"
    "  local command= action= more= options= operands= live= cur prev word i rest=$COMP_LINE\n"
    "  local -a words=() at=() where=() files=()\n"
    "  COMPREPLY=()\n"
    "  for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "    word=${COMP_WORDS[i]}\n"
    "    if ((i == 0)) || [[ ! $rest || $rest == [[:blank:]]* ]]; then words+=(\"$word\") at+=(\"$i\")\n"
    "    else words[-1]+=$word; fi\n"
    "    rest=${rest#\"${rest%%[![:blank:]]*}\"}\n"
    "    rest=${rest#\"$word\"}\n"
    "  done\n"
    "  cur=${words[-1]} prev=${words[-2]}\n"
    "  [[ $cur != -*=* ]] || { prev=${cur%%=*} cur=${cur#*=}; }\n"
    "  _dlock_offer && [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]] || return 0\n"
    "  COMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"${cur##*:}\"}\"}\")\n"
    "}\n"
    "complete -F _dlock dlock\n";

}  // namespace

std::string bash_script() {
  std::string commands;
  std::string cases;
  std::string operands;
  for (const CommandRow& row : command_rows()) {
    if (row.group.empty()) continue;
    commands.append(commands.empty() ? "" : " ").append(row.name);
    cases += "    " + names_of(row, '|') + ") options='" + bash_options(row.command) + "' ;;\n";
    if (const std::string words = operand_words(row); !words.empty()) {
      operands += "    " + names_of(row, '|') + ") operands='" + words + "' ;;\n";
    }
    if (takes_keys(row)) operands += "    " + names_of(row, '|') + ") live=keys ;;\n";
  }
  const std::string general = bash_patterns([](const OptionRow& row) { return row.anywhere; }, ' ');
  return "# bash completion for dlock\n"
         "_dlock_offer() {\n" +
         bash_scan() + "  case $prev in\n" + bash_value_cases() +
         "  esac\n"
         "  if [[ ! $command ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         commands + " " + general +
         "' -- \"$cur\"))\n"
         "    return 0\n"
         "  fi\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "  case \"$command $action\" in\n" +
         bash_action_cases() +
         "  esac\n"
         "  case $command in\n" +
         operands +
         "  esac\n"
         "  if [[ $command == stock && $action ]]; then operands= live=stocks; fi\n"
         "  if [[ $command == help && $action ]]; then operands=; fi\n"
         "  if [[ $command == config && $action ]]; then\n"
         "    operands=\n"
         "    [[ $action != show || $more ]] || live=keys\n"
         "  fi\n"
         "  if [[ $command == help && $action == stock && ! $more ]]; then operands='" +
         action_words() +
         "'; fi\n"
         "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
         "  else\n"
         "    [[ ! $live ]] || operands+=\" $(dlock \"${where[@]}\" __complete $live 2>/dev/null)\"\n"
         "    COMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n"
         "  fi\n"
         "  return 0\n"
         "}\n" +
         kBashWords;
}

}  // namespace dlock
