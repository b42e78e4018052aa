// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

/// How many single edits (insert, drop, change, swap two neighbours) turn `a` into `b`; upper and lower case are the
/// same. Optimal string alignment after Damerau, "A technique for computer detection and correction of spelling
/// errors", CACM 7(3), 1964. Both are cut off at 64 bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Finds the name that was meant: offer() every right name, then ask best(). A name counts when it is at most 2
/// edits away (1 for words up to 6 letters, a third of a long word), or when the word is the beginning of it and of no
/// other. The names must outlive this.
class Nearest {
 public:
  explicit Nearest(std::string_view word) : word_(word) {}
  void offer(std::string_view name);
  /// Empty if nothing is near.
  std::string_view best() const;

 private:
  std::string_view word_;
  std::string_view best_;
  std::size_t best_distance_ = static_cast<std::size_t>(-1);
  std::string_view continued_;  ///< the word is the beginning of this name
  bool ambiguous_ = false;
};

/// "did you mean 'ttl'?", or `otherwise` if `name` is empty.
std::string did_you_mean(std::string_view name, std::string_view otherwise = {});

}  // namespace dlock
