// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cmd/options/arguments.h"
#include "cmd/options/option_reader.h"
#include "cmd/options/option_table.h"
#include "cmd/options/options.h"

namespace dlock {

/// One thing that `dlock stock` does: drives parsing and help, as the option table does for commands.
struct StockActionRow {
  StockAction action;
  std::string_view name;
  std::string_view operands;  ///< as the usage line shows them, with the options that it needs
  std::string_view summary;
  OptionId needs = OptionId::kNone;  ///< the option that it cannot do without
  std::string_view why = {};         ///< what is asked where that is missing
  /// What help says of an option that means something else here, and its built-in value.
  struct {
    OptionId id = OptionId::kNone;
    std::string_view help = {};
    std::string_view preset = {};
  } elsewhere = {};
};

std::span<const StockActionRow> stock_action_rows();
/// Invalid, with the nearest name, or else `otherwise`.
Result<const StockActionRow*> find_stock_action(std::string_view word, const std::string& otherwise);
const StockActionRow& action_row(StockAction action);

/// The id of the request; a new random one if the user gave none.
LockName request_id(const StockOptions& stock);

/// The command line that makes the same call again; for create, whose repetition is refused, the one that looks. `id`:
/// the request's; nullptr: it has none.
std::string same_stock_call(const Options& options, const LockName* id);

/// Reads ACTION of `dlock stock` into options.stock. Invalid names the nearest one, or an option of another action.
Result<void> read_stock_action(const Arguments& arguments, Options& options);
/// Reads NAME and CMD, once the options are read. Invalid names what is missing or too much.
Result<void> place_stock_operands(const Arguments& arguments, const OptionReader& from, Options& options);

}  // namespace dlock
