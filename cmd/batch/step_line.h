// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The step that a line of `dlock stock batch` asks for: "take ID [QTY]", "refund ID [QTY [REFUND-ID]]", "add ID QTY".
/// Invalid says what is wrong. `start` is left alone.
Result<StockStep> parse_step(std::string_view line);

/// Appends the answer to a step, one line. Words: "ID ok|repeated [SEGMENT:QTY ...]", "ID short AVAILABLE RESERVED",
/// "ID error KIND MESSAGE".
void put_answer(std::string& out, const StockStep& step, const Result<StepAnswer>& answer);
/// dlock.stock.batch/1.
void put_json_answer(std::string& out, const StockStep& step, const Result<StepAnswer>& answer);
/// Appends the answer to a line that is no step: "? error invalid line NUMBER: MESSAGE".
void put_refusal(std::string& out, std::uint64_t number, const Error& error);
void put_json_refusal(std::string& out, std::uint64_t number, const Error& error);

}  // namespace dlock
