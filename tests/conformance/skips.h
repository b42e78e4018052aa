// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::testing {

/// What cases left out because a backend cannot do what they ask, held against the list of those that may: skips.txt.
class Skips {
 public:
  using List = std::map<std::string, std::set<std::string>>;  ///< reason: backends
  /// Lines "REASON: BACKEND; BACKEND", and comments behind '#'.
  static List parse(std::string_view text);

  /// A case has come to where a backend that `lacks` something leaves it. Returns `lacks`.
  bool note(const std::string& backend, const std::string& test_case, const std::string& reason, bool lacks);

  /// What was left out by those on the list: "CASE: REASON: BACKEND; BACKEND".
  std::vector<std::string> listed(const List& list) const;
  /// And by others: "BACKEND: CASE: REASON".
  std::vector<std::string> unlisted(const List& list) const;

  struct Run {
    std::set<std::string> backends;  ///< those that could run
    bool every_backend = false;      ///< there are no others
    bool every_case = false;         ///< none was filtered out
  };
  /// "BACKEND: REASON" of the list that no case needs any more, as far as this run can know.
  std::vector<std::string> stale(const List& list, const Run& run) const;

 private:
  /// Reason, backend: the cases that left it out; none if it can do what was asked.
  std::map<std::string, std::map<std::string, std::set<std::string>>> asked_;
};

/// Those of this program.
Skips& skips();

/// Leaves out the rest of the running case: `if (skips(w, !w.fixture.shared, "no readers")) return;`
bool skips_case(const std::string& backend, bool lacks, const char* reason);
template <typename AnyWorld>
bool skips(const AnyWorld& world, bool lacks, const char* reason) {
  return skips_case(world.fixture.name, lacks, reason);
}

/// Prints what was left out. 1 if CI=true and that is not what the list at `path` says; else 0.
int report_skips(const std::string& path, const Skips::Run& run);

}  // namespace dlock::testing
