// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "cmd/options/command_table.h"
#include "cmd/options/option_table.h"
#include "cmd/options/options.h"
#include "cmd/options/stock_actions.h"
#include "lib/base/text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr std::size_t kWidth = 79;
constexpr std::size_t kCommandColumn = 17;
constexpr std::size_t kOptionColumn = 30;
constexpr std::size_t kActionColumn = 46;

/// The words of `text`, in lines that end before `kWidth`; each line begins at `column`, where the first one stands.
void put_wrapped(std::string& out, std::size_t column, std::string_view text) {
  std::size_t at = column;
  while (!text.empty()) {
    const std::string_view word = cut(text, ' ');
    const bool first = at == column;
    if (!first && at + 1 + word.size() > kWidth) {
      out.append("\n").append(column, ' ').append(word);
      at = column + word.size();
    } else {
      out.append(first ? "" : " ").append(word);
      at += (first ? 0 : 1) + word.size();
    }
  }
  out += '\n';
}

/// `left`, then `right` from `column` on; on the next line if there is no room.
void put_row(std::string& out, std::string left, std::size_t column, std::string_view right) {
  if (left.size() + 2 > column) left += "\n" + std::string(column, ' ');
  else left.resize(column, ' ');
  put_wrapped(out.append(left), column, right);
}

void put_indented(std::string& out, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    out.append("  ").append(lines.substr(0, end)).append("\n");
    lines.remove_prefix(std::min(lines.size(), end + 1));
  }
}

std::string overview() {
  std::string out =
      "dlock: flock(1) for many machines. Runs a command while holding a lock.\n"
      "\n"
      "Examples:\n"
      "  dlock run deploy -- ./deploy.sh           wait for the lock, run, release\n"
      "  dlock run -n -E 0 nightly -- backup       cron: skip while it still runs\n"
      "  dlock run -w 30 db -c 'dump | gzip > f'   wait at most 30 s, use a shell\n"
      "  dlock inspect                             who holds what, who waits\n";
  std::string_view group;
  for (const CommandRow& row : command_rows()) {
    if (row.group.empty()) continue;
    if (row.group != group) out.append("\n").append(row.group).append(":\n");
    group = row.group;
    put_row(out, "  " + std::string(row.name), kCommandColumn, row.summary);
  }
  return out + "\n'dlock help COMMAND' explains one command and its options; more: man dlock\n";
}

std::string option_label(const OptionRow& row) {
  std::string label = row.letter == 0 ? std::string("      --") : std::string("  -") + row.letter + ", --";
  label += row.name;
  if (!row.value.name.empty()) label.append(" ").append(row.value.name);
  return label;
}

std::string option_text(const OptionRow& row, Command command, const StockActionRow* action = nullptr) {
  const bool differs = action != nullptr && action->elsewhere.id == row.id && row.id != OptionId::kNone;
  std::string text(differs ? action->elsewhere.help : help_in(command, row));
  const std::string_view preset = differs ? action->elsewhere.preset : row.preset;
  if ((row.flag_only & bit(command)) != 0 || (preset.empty() && row.variable.empty())) return text;
  text += " [";
  if (!preset.empty()) text.append(preset);
  if (!preset.empty() && !row.variable.empty()) text += "; ";
  if (!row.variable.empty()) text.append("$").append(row.variable);
  return text + "]";
}

/// "take, run: " for an option that these actions of `dlock stock` have; empty if all have it.
std::string actions_with(const OptionRow& row) {
  std::string actions;
  bool all = true;
  for (const StockActionRow& action : stock_action_rows()) {
    const bool has = has_option(action.action, row);
    if (has) actions.append(actions.empty() ? "" : ", ").append(action.name);
    all = all && has;
  }
  return all || actions.empty() ? std::string() : actions + ": ";
}

/// Those of an action of `dlock stock`, if one is named.
std::string own_options(Command command, const StockActionRow* action = nullptr) {
  std::string out, rare;
  for (const OptionRow& row : option_rows()) {
    const bool has = action ? has_option(action->action, row) : has_option(command, row);
    if (row.anywhere || !has) continue;
    if ((row.rare & bit(command)) != 0) {
      rare.append(rare.empty() ? "" : ", ").append("--").append(row.name);
      continue;
    }
    const std::string actions = command == Command::kStock && !action ? actions_with(row) : "";
    put_row(out, option_label(row), kOptionColumn, actions + option_text(row, command, action));
  }
  if (!rare.empty()) put_wrapped(out, 2, "Seldom needed, see man dlock: " + rare);
  return out.empty() ? out : "\nOptions [default; environment variable]:\n" + out;
}

constexpr std::string_view kGeneral = "General options (-b, -C, -q, -v, ...): dlock help options\n";

/// The page of all commands.
std::string general_options() {
  std::string out = "General options, also before the command [default; environment variable]:\n";
  for (const OptionRow& row : option_rows()) {
    if (row.anywhere) put_row(out, option_label(row), kOptionColumn, option_text(row, Command::kHelp));
  }
  return out + "\nThe last one of its kind counts. More: man dlock\n";
}

std::string explain(const CommandRow& row) {
  std::string out = "usage: dlock " + std::string(row.name) + " [OPTION...]";
  if (!row.operands.empty()) out.append(" ").append(row.operands);
  out.append("\n\n");
  put_wrapped(out, 0, row.summary);
  if (!row.details.empty()) put_wrapped(out += '\n', 0, row.details);
  if (row.shape == Operands::kStock) {
    out += "\nActions ('dlock help stock ACTION' explains one):\n";
    for (const StockActionRow& action : stock_action_rows()) {
      put_row(out, "  " + std::string(action.name) + " " + std::string(action.operands), kActionColumn, action.summary);
    }
  }
  if (!row.examples.empty()) {
    out += "\nExamples:\n";
    put_indented(out, row.examples);
  }
  return out.append(own_options(row.command)).append("\n").append(kGeneral) +
         "Durations: 10 (seconds), 0.5, 500ms, 10s, 1m30s, 2h, 1d. More: man dlock\n";
}

std::string explain_action(const StockActionRow& action) {
  const CommandRow& stock = command_row(Command::kStock);
  std::string out = "usage: dlock stock " + std::string(action.name) + " [OPTION...] " + std::string(action.operands) +
                    "\n\n" + std::string(action.summary) + "\n";
  std::string examples;
  for (std::string_view rest = stock.examples; !rest.empty();) {
    const std::string_view line = cut(rest, '\n');
    if (line.starts_with("dlock stock " + std::string(action.name) + " ")) put_indented(examples, line);
  }
  if (!examples.empty()) out += "\nExample:\n" + examples;
  return out.append(own_options(Command::kStock, &action)).append("\n").append(kGeneral) +
         "The other actions: dlock help stock. More, with examples to try: man dlock-stock\n";
}

Result<std::string> help_of_action(const std::string& word) {
  const auto action = find_stock_action(word, "all: dlock help stock");
  return action ? Result<std::string>(explain_action(**action)) : action.error();
}

}  // namespace

Result<std::string> help_text(const std::vector<std::string>& words) {
  if (words.empty()) return overview();
  const std::string& command = words.front();
  if (command == "options" && words.size() == 1) return general_options();
  const CommandRow* row = find_command(command);
  if (row != nullptr && row->shape == Operands::kStock && words.size() == 2) return help_of_action(words[1]);
  if (words.size() > 1) {
    return usage_error("'dlock help' explains one command, these are " + std::to_string(words.size()) + " words",
                       "write: dlock help " + command);
  }
  if (row != nullptr) return explain(*row);
  return Error{ErrorCode::kInvalid, "unknown command " + in_quotes(command),
               did_you_mean(nearest_command(command), "all commands: dlock help")};
}

}  // namespace dlock
