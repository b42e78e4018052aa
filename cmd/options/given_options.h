// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/options/option_table.h"
#include "lib/base/result.h"

namespace dlock {

/// One option as it stood on the command line.
struct GivenOption {
  const OptionRow* row = nullptr;
  std::string value;    ///< of an option that has one
  std::string spelled;  ///< "--ttl" or "-t"
};

/// A row of words taken apart.
struct GivenOptions {
  std::vector<GivenOption> options;  ///< in the order given
  const OptionRow* asked = nullptr;  ///< --help or --version: nothing behind it was read
  std::span<char* const> rest;       ///< with kEndOptions: the first operand and all after it
  std::vector<char*> operands;       ///< with kStandAnywhere: what is neither an option nor the value of one
};

/// Whether `value` is a word where a number or a duration has to be: another operand's.
bool is_word_taken(const OptionRow& row, std::string_view value);

enum class OperandsMay { kEndOptions, kStandAnywhere };

inline bool looks_like_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// Has CLI11 read the options among `words`, of which "--" is none. `command` is null before the command. Invalid for
/// an unknown option, one of another command (before the command without advice), a missing value or one too many.
Result<GivenOptions> read_given_options(std::span<char* const> words, OperandsMay operands, const CommandRow* command);

}  // namespace dlock
