// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The step that a line of `dlock stock batch` asks for: "take ID [QTY]", "confirm ID", "cancel ID", "refund ID
/// [QTY [REFUND-ID]]", "add ID QTY", or the same as a JSON object: {"step": "refund", "id": ID, "qty": QTY,
/// "refund_id": ID}. Invalid says what is wrong. Owner, ttl and start are left alone.
Result<StockStep> parse_step(std::string_view line);
/// The step of a line that is a JSON object; parse_step() calls it.
Result<StockStep> parse_json_step(std::string_view line);
/// The step from the parts of a line of either form. `quantity` null, `refund_id` empty: the line has none.
Result<StockStep> make_step(std::string_view word, std::string_view id, const Quantity* quantity,
                            std::string_view refund_id = {});

/// Appends the answer to a step, one line. Words: "ID ok|repeated [SEGMENT:QTY ...]", "ID short AVAILABLE RESERVED",
/// "ID error KIND MESSAGE".
void put_answer(std::string& out, const StockStep& step, const Result<StepAnswer>& answer);
/// dlock.stock.batch/1.
void put_json_answer(std::string& out, const StockStep& step, const Result<StepAnswer>& answer);
/// Appends the answer to a line that is no step: "? error invalid line NUMBER: MESSAGE".
void put_refusal(std::string& out, std::uint64_t number, const Error& error);
void put_json_refusal(std::string& out, std::uint64_t number, const Error& error);

}  // namespace dlock
