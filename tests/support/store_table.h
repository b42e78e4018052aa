// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::testing {

/// A row of backends/NAME/conformance.txt:
///     lock|stock|sealed | NAME | VARIABLE | REST OF URL | what it cannot, the names of members of Fixture
/// and comments behind '#'.
struct StoreRow {
  std::string port;  ///< "lock", "stock"; or "sealed": rows that can be read, where nothing may be written
  std::string name;
  std::string variable;  ///< of the environment: its server's URL (scripts/start-test-servers); kOwnDirectory: none
  std::string rest;      ///< what stands behind it
  std::set<std::string> lacks;
};

inline constexpr std::string_view kOwnDirectory = "DIRECTORY";  ///< of this program alone, empty at first

/// Throws std::runtime_error on a row that has not these five parts.
std::vector<StoreRow> parse_store_table(std::string_view text);

struct FoundStore {
  StoreRow row;
  std::string url;  ///< with the rest; of kOwnDirectory: `directory`
};

/// Those of `port` of every backend in this build that can run here. Empty variables leave a store out; one that is not
/// set does so too, and throws std::runtime_error with CI=true. So does a word of `lacks` that is not in `known`.
std::vector<FoundStore> stores_of(std::string_view port, const std::string& directory,
                                  const std::set<std::string>& known);

/// False if stores_of() left one out.
bool every_store_was_found();

}  // namespace dlock::testing
