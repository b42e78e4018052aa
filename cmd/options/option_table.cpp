// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_table.h"

#include <algorithm>
#include <array>

#include "cmd/options/option_rows_other.h"
#include "cmd/options/option_rows_taking.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

template <std::size_t N, std::size_t M>
constexpr std::array<OptionRow, N + M> joined(const OptionRow (&first)[N], const OptionRow (&second)[M]) {
  std::array<OptionRow, N + M> all{};
  std::copy(std::begin(first), std::end(first), all.begin());
  std::copy(std::begin(second), std::end(second), all.begin() + N);
  return all;
}

constexpr auto kOptionRows = joined(rows::kTaking, rows::kOthers);

constexpr bool rows_stand_in_the_order_of_their_ids() {
  for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
    if (kOptionRows[i].id != static_cast<OptionId>(i)) return false;
  }
  return kOptionRows.size() == static_cast<std::size_t>(OptionId::kVersion) + 1;
}
static_assert(rows_stand_in_the_order_of_their_ids());

constexpr OptionAlias kAliases[] = {
    {"nb", OptionId::kNonblock},   {"nonblocking", OptionId::kNonblock}, {"try", OptionId::kNonblock},
    {"limit", OptionId::kPermits}, {"colour", OptionId::kColor},         {"timeout", OptionId::kWait},
};

}  // namespace

std::span<const OptionRow> option_rows() { return kOptionRows; }
std::span<const OptionAlias> option_aliases() { return kAliases; }

const OptionRow& option_row(OptionId id) { return kOptionRows[static_cast<std::size_t>(id)]; }

std::string_view help_in(Command command, const OptionRow& row) {
  return (row.elsewhere.commands & bit(command)) != 0 ? row.elsewhere.help : row.help;
}

const OptionRow* find_option(std::string_view name) {
  for (const OptionRow& row : kOptionRows) {
    if (row.name == name) return &row;
  }
  for (const OptionAlias& alias : kAliases) {
    if (alias.name == name) return &option_row(alias.id);
  }
  return nullptr;
}

const OptionRow* find_option(std::string_view name, Command command) {
  for (const OptionRow& row : kOptionRows) {
    if (row.name == name && has_option(command, row)) return &row;
  }
  return find_option(name);
}

const OptionRow* find_option(char letter) {
  if (letter == 'e') return &option_row(OptionId::kExclusive);  // flock(1) has -e and -x
  for (const OptionRow& row : kOptionRows) {
    if (row.letter == letter && letter != 0) return &row;
  }
  return nullptr;
}

const OptionRow* find_option(char letter, Command command) {
  for (const OptionRow& row : kOptionRows) {
    if (row.letter == letter && letter != 0 && has_option(command, row)) return &row;
  }
  return find_option(letter);
}

std::string_view nearest_option(std::string_view word, Command command) {
  Nearest nearest(word);
  for (const OptionRow& row : kOptionRows) {
    if (has_option(command, row)) nearest.offer(row.name);
  }
  for (const OptionAlias& alias : kAliases) {
    if (has_option(command, option_row(alias.id))) nearest.offer(alias.name);
  }
  return nearest.best();
}

}  // namespace dlock
