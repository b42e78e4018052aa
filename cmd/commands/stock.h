// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/stock/stock.h"

namespace dlock {

/// dlock stock ACTION on a store of this program, all but run: returns the exit status.
int stock_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out);

/// dlock stock show.
int stock_show(const Options& options, Stock& stock, const Runtime& runtime, Output& out);

/// Stocks for people: a heading each, and a line for each segment; with bars on a terminal.
std::string stock_text(const StockState& state, const Look& look);
/// dlock.stock/1, without the newline.
std::string stock_json(const StockState& state);
/// What take, refund and add print: "SEGMENT QTY" lines.
std::string stock_parts_text(const StockParts& parts);

}  // namespace dlock
