// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "cmd/options/given_options.h"
#include "cmd/options/options.h"
#include "lib/base/result.h"

namespace dlock {

/// A command line taken apart; nothing has been interpreted yet. Words and CMD point into argv.
struct Arguments {
  Command command = Command::kHelp;
  std::vector<GivenOption> options;     ///< in the order given
  std::vector<std::string_view> words;  ///< KEYs and other operands
  std::vector<char*> child;             ///< CMD and its arguments, without the closing null
  bool separated = false;               ///< by "--" from the words

  /// The last one given, or nullptr.
  const GivenOption* find(OptionId id) const;
};

/// Takes argv apart:
///
///     dlock [OPTION...] COMMAND [OPTION...] KEY... -- CMD [ARG...]        all words before the first "--" are keys
///     dlock [OPTION...] COMMAND [OPTION...] KEY CMD [ARG...]              no "--": one key, the rest is CMD
///     dlock [OPTION...] COMMAND [OPTION...] KEY -c STR                    as with flock(1)
///     dlock [OPTION...] COMMAND [OPTION...] -- -KEY... [-- CMD [ARG...]]  keys may begin with -
///
/// for run and fence; 'dlock stock run' has its command behind "--" only. For the other commands options may stand
/// anywhere before "--". Pure. Invalid for an unknown command or option, a missing value, an option of another command:
/// each names the nearest right word.
Result<Arguments> split_arguments(int argc, char** argv);

/// Whether `key` is a pattern where a command takes patterns, as inspect and force-release do: it has one of * ? [. It
/// means all live locks that it matches, one of exactly this name included.
bool is_pattern(const LockName& key);

/// Puts the words of a command line where they belong: keys, token, CMD, other words; and checks that what the command
/// cannot do without is there. Invalid says what is missing and shows the right form.
Result<void> place_operands(const Arguments& arguments, Options& options);

}  // namespace dlock
