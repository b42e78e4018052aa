// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/command_table.h"

#include <algorithm>
#include <bit>

#include "lib/config/suggest.h"

namespace dlock {

const CommandRow& command_row(Command command) {
  return *std::ranges::find(command_rows(), command, &CommandRow::command);
}

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& row : command_rows()) {
    bool found = row.name == name;
    for_each_word(row.aliases, [&](std::string_view alias) { found = found || alias == name; });
    if (found) return &row;
  }
  return nullptr;
}

std::string_view nearest_command(std::string_view word) {
  Nearest nearest(word);
  for (const CommandRow& row : command_rows()) {
    if (row.group.empty()) continue;
    nearest.offer(row.name);
    for_each_word(row.aliases, [&](std::string_view alias) { nearest.offer(alias); });
  }
  return nearest.best();
}

std::string command_list(CommandSet commands) {
  if (std::popcount(commands) > 6) return {};
  std::string text;
  std::string_view last;
  for (const CommandRow& row : command_rows()) {
    if ((bit(row.command) & commands) == 0 || row.group.empty()) continue;
    if (!last.empty()) text.append(text.empty() ? "" : ", ").append(last);
    last = row.name;
  }
  if (!text.empty()) text += " and ";
  return text.append(last);
}

}  // namespace dlock
