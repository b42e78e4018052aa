// SPDX-License-Identifier: Apache-2.0
#include "lib/config/suggest.h"

#include <algorithm>
#include <array>

namespace dlock {
namespace {

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kShortestBeginning = 2;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t most_edits(std::size_t length) { return length <= 6 ? 1 : std::max<std::size_t>(2, length / 3); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestWord);
  b = b.substr(0, kLongestWord);
  using Row = std::array<std::size_t, kLongestWord + 1>;
  Row before_previous{};
  Row previous{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before_previous[j - 2] + 1);
      }
    }
    before_previous = previous;
    previous = row;
  }
  return previous[b.size()];
}

void Nearest::offer(std::string_view name) {
  const std::size_t distance = edit_distance(word_, name);
  // A name of which every letter had to change is not a typo of it.
  if (distance <= most_edits(word_.size()) && distance < name.size() && distance < best_distance_) {
    best_distance_ = distance;
    best_ = name;
  }
  if (word_.size() >= kShortestBeginning && name.starts_with(word_)) {
    ambiguous_ = ambiguous_ || !continued_.empty();
    continued_ = name;
  }
}

std::string_view Nearest::best() const {
  if (!continued_.empty() && !ambiguous_) return continued_;
  return best_;
}

std::string did_you_mean(std::string_view name, std::string_view otherwise) {
  if (name.empty()) return std::string(otherwise);
  return "did you mean '" + std::string(name) + "'?";
}

}  // namespace dlock
