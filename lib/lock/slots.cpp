// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/slots.h"

#include <algorithm>
#include <cstddef>

namespace dlock {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:/@";

bool is_in(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error bad_slots(std::string message) {
  return {ErrorCode::kInvalid, std::move(message),
          "names with commas between them, each once: letters, digits and . _ - : / @"};
}

Result<void> check_slot(std::string_view name) {
  if (name.empty()) return bad_slots("a slot has no name");
  if (name.size() > kLongestSlot) {
    return bad_slots("the slot '" + std::string(name) + "' is " + std::to_string(name.size()) + " bytes long, " +
                     std::to_string(kLongestSlot) + " at most");
  }
  const std::size_t odd = name.find_first_not_of(kLetters);
  if (odd == std::string_view::npos) return {};
  return bad_slots("the slot '" + std::string(name) + "' has a character at position " + std::to_string(odd + 1) +
                   " that is not allowed in a slot");
}

}  // namespace

Result<std::vector<std::string>> parse_slots(std::string_view list) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    TRY(check_slot(name));
    if (is_in(names, name)) return bad_slots("the slot '" + std::string(name) + "' is named twice");
    names.emplace_back(name);
    if (names.size() > kMostNamedSlots)
      return bad_slots("there are more than " + std::to_string(kMostNamedSlots) + " slots");
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

std::string slots_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
  return text;
}

std::string free_slot(const std::vector<std::string>& names, int permits, const std::vector<std::string>& taken) {
  for (const std::string& name : names) {
    if (!is_in(taken, name)) return name;
  }
  for (int number = 0; names.empty() && number < permits; ++number) {
    if (std::string name = std::to_string(number); !is_in(taken, name)) return name;
  }
  return {};
}

}  // namespace dlock
