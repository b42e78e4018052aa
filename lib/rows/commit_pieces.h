// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "lib/rows/rows.h"

namespace dlock {

/// As Rows::commit_each, of a store that makes at most `most` commits in one step, all or none of them: `commit_some`
/// answers one piece, a Result<std::vector<Rows::Number>>. After an Error nothing more is begun, and all behind it have
/// it too.
template <typename CommitSome>
std::vector<Result<Rows::Number>> commit_in_pieces(std::span<const Rows::Commit> commits, std::size_t most,
                                                   CommitSome commit_some) {
  std::vector<Result<Rows::Number>> answers;
  while (answers.size() < commits.size()) {
    const auto rest = commits.subspan(answers.size());
    const auto numbers = commit_some(rest.first(std::min(rest.size(), most)));
    if (numbers) answers.insert(answers.end(), numbers->begin(), numbers->end());
    else answers.resize(commits.size(), Result<Rows::Number>(numbers.error()));
  }
  return answers;
}

}  // namespace dlock
