// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "cmd/options/command_table.h"

namespace dlock {

enum class OptionId {
  kBackend,
  kConfig,
  kNonblock,
  kWait,
  kTries,
  kRetryInterval,
  kConflictExitCode,
  kWarnHeld,
  kExclusive,
  kShared,
  kPermits,
  kSlots,
  kFair,
  kReplace,
  kNewest,
  kTtl,
  kKillAfter,
  kOnLost,
  kLockDelay,
  kAtLeast,
  kOnce,
  kRemember,
  kMaxHold,
  kFallback,
  kIfUnavailable,
  kConnectTimeout,
  kCommandText,
  kClose,
  kReason,
  kReport,
  kEvents,
  kWatchPid,
  kOwner,
  kSlot,
  kIfHeld,
  kToken,
  kYes,
  kForeignData,
  kForce,
  kWatch,
  kInterval,
  kDryRun,
  kSince,
  kUntil,
  kLast,
  kFollow,
  kSvg,
  kMatch,
  kPrint,
  kCount,
  kQuantity,
  kSegments,
  kIfNotExists,
  kQty,
  kId,
  kRefundId,
  kStockMode,
  kJson,
  kShell,
  kProgress,
  kQuiet,
  kVerbose,
  kColor,
  kLogFormat,
  kStrict,
  kHelp,
  kVersion,
};

/// What an option's value is.
enum class ValueKind { kFlag, kText, kFile, kDuration, kNumber, kChoice, kBackend };

struct OptionValue {
  ValueKind kind = ValueKind::kFlag;
  std::string_view name = {};  ///< how help calls it; the choices of kChoice
};

/// The sections of a configuration file in which an option may stand, one bit each, under its name ("default-backend"
/// stands at the top).
enum ConfigPlace : unsigned { kInDefaults = 1, kInBackend = 2, kInKey = 4 };

/// Properties that few options have.
struct OptionTraits {
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
  std::string_view words = {};  ///< values that completion offers, between blanks, besides those of a choice
};

/// One option: the only description of it. Parsing, help, completion, environment, configuration files and the check of
/// the man page read these rows.
struct OptionRow : OptionTraits {
  constexpr OptionRow(OptionId its_id, std::string_view its_name, char its_letter, OptionValue its_value,
                      CommandSet of_commands, std::string_view its_help, const OptionTraits& traits = {})
      : OptionTraits(traits),
        id(its_id),
        name(its_name),
        letter(its_letter),
        value(its_value),
        commands(of_commands),
        help(its_help) {}

  OptionId id;
  std::string_view name;
  char letter;  ///< 0: none
  OptionValue value;
  CommandSet commands;  ///< the commands that have it
  std::string_view help;
};

std::span<const OptionRow> option_rows();
const OptionRow& option_row(OptionId id);

/// What the option does in `command`.
std::string_view help_in(Command command, const OptionRow& row);

/// By its long name (without "--") or an alias that other tools use, or by its letter; nullptr if there is none.
/// Options of `command` come first: a name may belong to different options in different commands.
const OptionRow* find_option(std::string_view name, const CommandRow* command = nullptr);
const OptionRow* find_option(char letter, const CommandRow* command = nullptr);

/// The name (without "--") nearest to `word` among the options of `command`; empty if none is near.
std::string_view nearest_option(std::string_view word, Command command);

inline bool has_option(Command command, const OptionRow& row) { return (row.commands & bit(command)) != 0; }
/// The same; with nullptr whether it may stand before the command.
inline bool has_option(const CommandRow* command, const OptionRow& row) {
  return command == nullptr ? row.anywhere : has_option(command->command, row);
}

}  // namespace dlock
