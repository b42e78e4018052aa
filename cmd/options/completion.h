// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cmd/options/arguments.h"

namespace dlock {

/// What may come at the end of a command line that is being typed.
struct Completion {
  /// Names of a store or of the configuration that are offered as well; who asks for them needs Completion::where.
  enum class Live { kNone, kBackends, kKeys, kStocks };

  std::string lines;  ///< WORD, or WORD TAB DESCRIPTION; ":files" for files; ":command N": the rest, from the word N on
                      ///< ("dlock" is 0), is a command line of its own
  Live live = Live::kNone;
  std::string typed;               ///< a live name begins with it
  std::string before;              ///< stands in front of each live name: "--backend="
  std::vector<GivenOption> where;  ///< --backend and --config of the line
};

/// Of `words`, those behind "dlock"; the last one, which may be empty, is being typed.
Completion complete_words(const std::vector<std::string_view>& words);

}  // namespace dlock
