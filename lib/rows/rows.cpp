// SPDX-License-Identifier: Apache-2.0
#include "lib/rows/rows.h"

#include <algorithm>
#include <array>

#include "lib/base/text.h"

namespace dlock {

Result<Rows::Survey> Rows::survey(const std::string& key, Which which, const CallLimit& limit) {
  TRY_ASSIGN(auto names, groups(limit));
  Survey survey;
  for (LockName& name : names) {
    TRY_ASSIGN(auto look, read(name, {&key, 1}, limit));
    Row& row = look.rows.front();
    survey.now_us = look.now_us;
    if (row.version != 0 && row.text.empty() == (which == Which::kEmpty))
      survey.rows.emplace_back(std::move(name), std::move(row));
  }
  return survey;
}

Error crowd_at(const std::string& store, const LockName& group) {
  return {.code = ErrorCode::kUnavailable,
          .message = store + ": " + group.text() + " was changed again and again by others",
          .next = "try again, with fewer of them at a time, or give a stock more segments: dlock stock resize",
          .undone = true,
          .outage = Outage::kCrowded};
}

bool relies_on_nothing(const Rows::Commit& commit) {
  return std::all_of(commit.begin(), commit.end(), [](const Rows::Change& one) {
    return one.kind == Rows::Change::Kind::kBefore || (one.kind != Rows::Change::Kind::kAdd && one.version == 0);
  });
}

std::string numbers_text(std::span<const std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += ' ';
    text += std::to_string(number);
  }
  return text;
}

bool read_numbers(std::string_view text, std::span<std::int64_t> numbers) {
  if (count_numbers(text) != numbers.size()) return false;
  for (std::int64_t& number : numbers) number = *whole_number<std::int64_t>(cut(text, ' '));
  return true;
}

std::size_t count_numbers(std::string_view text) {
  std::size_t count = 1;
  while (text.find(' ') != std::string_view::npos) {
    if (!whole_number<std::int64_t>(cut(text, ' '))) return 0;
    ++count;
  }
  return whole_number<std::int64_t>(text) ? count : 0;
}

std::string added_numbers(std::string_view text, std::span<const std::int64_t> add) {
  std::array<std::int64_t, Rows::kMostNumbers> room{};
  if (add.size() > room.size()) return {};
  const std::span numbers(room.data(), add.size());
  if (!read_numbers(text, numbers)) return {};
  for (std::size_t i = 0; i < add.size(); ++i) {
    numbers[i] += add[i];
    if (numbers[i] < 0 || numbers[i] > Rows::kMostNumber) return {};
  }
  return numbers_text(numbers);
}

}  // namespace dlock
