// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "cmd/options/command_table.h"
#include "cmd/options/options.h"
#include "lib/base/result.h"
#include "lib/config/config.h"

namespace dlock {

/// The options that code asks for by name: it wants to know whether they were typed, or what else was.
enum class OptionId {
  kNone,
  kBackend,
  kConfig,
  kNonblock,
  kWait,
  kTries,
  kRetryInterval,
  kConflictExitCode,
  kExclusive,
  kShared,
  kPermits,
  kSlots,
  kReplace,
  kNewest,
  kTtl,
  kKillAfter,
  kOnLost,
  kOnce,
  kMaxHold,
  kFallback,
  kIfUnavailable,
  kCommandText,
  kClose,
  kSlot,
  kYes,
  kWatch,
  kFollow,
  kSvg,
  kQuantity,
  kSegments,
  kQty,
  kRequests,
  kId,
  kMode,
  kJson,
  kShell,
  kLogFormat,
  kHelp,
  kVersion,
};

/// What an option's value is.
enum class ValueKind { kFlag, kText, kFile, kDuration, kNumber, kChoice, kBackend };

struct OptionValue {
  ValueKind kind = ValueKind::kFlag;
  std::string_view name = {};  ///< how help calls it; the choices of kChoice
  std::int64_t least = 0;      ///< of a number or a duration
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct OptionRow;

/// Reads what is set into the field of the option; Invalid. With a null `options` it is only judged.
using ReadOption = Result<void> (*)(const OptionRow& row, const Setting& setting, Options* options);

/// Another option, and what to do where the two do not go together.
struct OtherOption {
  OptionId id = OptionId::kNone;
  std::string_view next = {};
};

/// A set of actions of `dlock stock`, one bit each.
using ActionSet = std::uint32_t;
constexpr ActionSet bit(StockAction action) { return ActionSet{1} << static_cast<unsigned>(action); }
inline constexpr ActionSet kEveryAction = ~ActionSet{0};

/// The sections of a configuration file in which an option may stand, one bit each, under its name ("default-backend"
/// stands at the top).
enum ConfigPlace : unsigned { kInDefaults = 1, kInBackend = 2, kInKey = 4 };

/// Properties that few options have.
struct OptionTraits {
  OptionId id = OptionId::kNone;
  bool anywhere = false;           ///< may also stand before the command
  bool repeats = false;            ///< each one counts; else the last one wins
  std::string_view variable = {};  ///< in the environment; empty: none
  unsigned config = 0;             ///< of ConfigPlace
  CommandSet flag_only = 0;  ///< commands that read it from the command line alone, or else use a default of their own
  std::string_view preset = {};  ///< the built-in value, as help and `config show` write it; empty: none
  CommandSet rare = 0;           ///< commands whose --help leaves it out: the manual has it
  /// What help says instead in the commands where the option means something else.
  struct {
    CommandSet commands = 0;
    std::string_view help = {};
  } elsewhere = {};
  std::string_view words = {};         ///< values that completion offers, between blanks, besides those of a choice
  OtherOption excludes[2] = {{}, {}};  ///< those that may not be typed beside it
  OtherOption needs[2] = {{}, {}};     ///< typed, it means nothing without one of them
  ActionSet actions = 0;               ///< the actions of `dlock stock` that have it
};

/// One option: the only description of it. Parsing, help, completion, environment, configuration files and the check of
/// the man page read these rows.
struct OptionRow : OptionTraits {
  constexpr OptionRow(std::string_view its_name, char its_letter, OptionValue its_value, ReadOption its_read,
                      CommandSet of_commands, std::string_view its_help, const OptionTraits& traits = {})
      : OptionTraits(traits),
        name(its_name),
        letter(its_letter),
        value(its_value),
        read(its_read),
        commands(of_commands),
        help(its_help) {}

  std::string_view name;
  char letter;  ///< 0: none
  OptionValue value;
  ReadOption read;      ///< null: it is asked for
  CommandSet commands;  ///< the commands that have it
  std::string_view help;
};

std::span<const OptionRow> option_rows();
/// REQUIRES: not kNone.
const OptionRow& option_row(OptionId id);

/// What the option does in `command`.
std::string_view help_in(Command command, const OptionRow& row);

/// By its long name (without "--") or an alias that other tools use, or by its letter; nullptr if there is none.
/// Options of `command` come first: a name may belong to different options in different commands.
const OptionRow* find_option(std::string_view name, const CommandRow* command = nullptr);
const OptionRow* find_option(char letter, const CommandRow* command = nullptr);

/// The name (without "--") nearest to `word` among the options of `command`; empty if none is near.
std::string_view nearest_option(std::string_view word, Command command);

inline bool has_option(StockAction action, const OptionRow& row) {
  return row.anywhere || (row.actions & bit(action)) != 0;
}
inline bool has_option(Command command, const OptionRow& row) { return (row.commands & bit(command)) != 0; }
/// The same; with nullptr whether it may stand before the command.
inline bool has_option(const CommandRow* command, const OptionRow& row) {
  return command == nullptr ? row.anywhere : has_option(command->command, row);
}

}  // namespace dlock
