// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dlock::redis {

/// What keeps the quantity of a segment.
enum class StockCounters {
  kHash,   ///< a field of one hash
  kPlain,  ///< a counter of its own that other programs can read: GET, INCRBY, DECRBY
  kTair,   ///< the same as a TairString: EXGET, EXINCRBY ... MIN 0
};

/// One of stock_scripts but take_at_once_*, as it is sent. All have KEYS = meta, quantity, reserved, open, until, the
/// record of one request (meta again where there is none), held, credits and refused. Every decision is made inside one
/// of them, by the server's clock, and before the first write: what makes no sense changes nothing. What gives back
/// begins with a command that is allowed when memory is full. StockCalls sends them. All but create and drop answer
/// {none} where there is no stock, and all {broken, why}.
///
/// A stock lies in one slot, or spread over several: the slot `first` of `step` has the segments first, first + step,
/// ... and one place (first) even if there are fewer segments.
std::string script_text(const char* script, StockCounters counters, int first, int step);

/// The script for a take as most are, the same in each slot: its KEYS are meta, quantity, open and the record of the
/// request alone.
std::string take_at_once_text(StockCounters counters);

}  // namespace dlock::redis
