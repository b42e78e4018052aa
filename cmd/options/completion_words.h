// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/options/command_table.h"
#include "cmd/options/option_table.h"

namespace dlock {

/// "run|lock|exec|with"
std::string names_of(const CommandRow& row, char between);

/// The words that an option's value can be, between blanks, besides the names of files; empty when nobody can know.
std::string value_words(const OptionRow& row);

/// Does it take keys of locks that somebody else may have?
bool takes_keys(const CommandRow& row);

/// The words behind a command that are neither options nor keys, between blanks.
std::string operand_words(const CommandRow& row);

/// What 'dlock help' explains besides commands: 'dlock help stock take'.
std::string action_words();

/// The script of `dlock completion bash`.
std::string bash_script();

}  // namespace dlock
