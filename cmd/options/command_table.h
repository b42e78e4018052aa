// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cmd/options/options.h"
#include "lib/base/result.h"
#include "lib/base/text.h"

namespace dlock {

/// A set of commands, one bit each.
using CommandSet = std::uint32_t;
constexpr CommandSet bit(Command command) { return CommandSet{1} << static_cast<unsigned>(command); }
inline constexpr CommandSet kEveryCommand = ~CommandSet{0};

/// What the words of a command line that are no options mean.
enum class Operands {
  kKeysAndCommand,  ///< KEY... -- CMD [ARG...]: options stop at the first KEY
  kFence,           ///< RESOURCE TOKEN [-- CMD [ARG...]]: options stop at RESOURCE
  kOneKey,          ///< KEY
  kAnyKeys,         ///< [KEY...]
  kKeyAndToken,     ///< KEY TOKEN
  kOneWord,         ///< exactly one word out of `words`
  kMaybeCommand,    ///< [COMMAND [ACTION]]
  kMaybeWord,       ///< nothing, or one word out of `words`
  kStock,           ///< ACTION NAME, and with ACTION run: -- CMD [ARG...]; options may stand anywhere before
  kConfig,          ///< one word out of `words`; behind "show" perhaps a KEY
  kNone,
};

struct Call;  // cmd/call.h

enum CommandTrait : unsigned {
  kPrints = 0,           ///< what it prints is all that it is for
  kHasEffect = 1,        ///< has an effect without output: done also where nothing can be written to stdout
  kLooksOrFrees = 2,     ///< goes on with what can be read of a configuration that has mistakes
  kNeedsNoSettings = 4,  ///< works whatever the configuration says
};

/// One command: drives parsing, help and completion, and does it. All rows stand in cmd/command_rows.cpp.
struct CommandRow {
  Command command;
  int (*run)(const Call& call);  ///< returns the exit status
  unsigned traits;               ///< of CommandTrait
  std::string_view name;
  std::string_view operands;  ///< as the usage line shows them
  Operands shape;
  std::string_view words;    ///< with kOneWord, kConfig: the right ones, separated by blanks
  std::string_view group;    ///< heading in the overview; empty: hidden
  std::string_view summary;  ///< one line
  std::string_view details;  ///< a paragraph of its help, may be empty
  std::string_view examples;
};

std::span<const CommandRow> command_rows();
const CommandRow& command_row(Command command);

/// nullptr if there is none.
const CommandRow* find_command(std::string_view name);

/// The name nearest to `word`; empty if none is near.
std::string_view nearest_command(std::string_view word);

/// "run, hold and acquire"; empty for more than six.
std::string command_list(CommandSet commands);

/// Calls `use` with each word of a list that is separated by blanks or bars.
template <typename Use>
void for_each_word(std::string_view list, Use use) {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(" |");
    if (end != 0) use(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
}

/// A mistake in what the user typed: what is wrong, and how to write it. Exit status 64.
inline Error usage_error(std::string message, std::string next) {
  return {ErrorCode::kInvalid, std::move(message), std::move(next)};
}

/// A word of the user's in a message: in quotation marks, cut after 80 bytes.
inline std::string in_quotes(std::string_view word) {
  std::string text = "'";
  return text.append(utf8_prefix(word, 80)).append(word.size() > 80 ? "...'" : "'");
}

/// The line of dlock for a command of another lock tool ("unlock", "ls", "logs"); empty: none of them has it.
std::string_view foreign_command(std::string_view word);

/// The same for an action of `dlock stock` ("list", "cancel").
std::string_view foreign_stock_action(std::string_view word);

/// The refusal of an option of another lock tool, by its name without dashes or by its letter: what stands for it here.
std::optional<Error> foreign_option(std::string_view name);

/// A number as in flock's `flock -n 9`: a descriptor of the script, where dlock has a KEY.
bool is_descriptor(std::string_view word);

/// The advice for that form.
inline constexpr std::string_view kRestOfScript =
    "for the rest of a script, flock's descriptor form, write: "
    "eval \"$(dlock acquire --shell --watch-pid $$ KEY)\" || exit";

}  // namespace dlock
