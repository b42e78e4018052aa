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

/// The scripts of a stock, our own text. All have KEYS = meta, quantity, reserved, open, until, the record of one
/// request (meta again where there is none), held, owed and refused. Every decision is made inside one of them, by the
/// server's clock, and before the first write: what makes no sense changes nothing. What gives back begins with a
/// command that is allowed when memory is full. Arguments and answers: stock_slots.cpp, which is their only caller. All
/// but create and drop answer {none} where there is no stock, and all {broken, why}.
///
/// A stock lies in one slot, or spread over several: the slot `first` of `step` has the segments first, first + step,
/// ... and one place (first) even if there are fewer segments.
struct StockScript {
  const char* body;
  bool of_stock = true;  ///< is nothing without one
};
/// With the functions that it uses. On one line: strings inside must have no two blanks in a row.
std::string script_text(const StockScript& script, StockCounters counters, int first, int step);

extern const StockScript kStockCreate;
extern const StockScript kStockTake;
extern const StockScript kStockExtend;
extern const StockScript kStockConfirm;
extern const StockScript kStockCancel;
extern const StockScript kStockRefund;
extern const StockScript kStockAdd;
extern const StockScript kStockLevel;
extern const StockScript kStockDrop;
extern const StockScript kStockLook;

// For several slots (stock_slot_scripts.cpp).
extern const StockScript kStockMade;
extern const StockScript kStockMarkDropping;
extern const StockScript kStockToken;
extern const StockScript kStockCommit;
extern const StockScript kStockFate;
extern const StockScript kStockHold;
extern const StockScript kStockEndHold;
extern const StockScript kStockExtendHold;
extern const StockScript kStockDeliver;
extern const StockScript kStockDelivered;
extern const StockScript kStockBeginLevelling;
extern const StockScript kStockEndLevelling;
extern const StockScript kStockKeepStill;
extern const StockScript kStockPourOut;
extern const StockScript kStockPourIn;

}  // namespace dlock::redis
