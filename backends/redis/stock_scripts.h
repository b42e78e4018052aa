// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlock::redis {

/// The scripts of a stock, our own text. All have KEYS = meta, quantity, reserved, open, until and the record of one
/// request (meta again where there is none). Every decision is made inside one of them, by the server's clock, and
/// before the first write: what makes no sense changes nothing. What gives back begins with a command that is allowed
/// when memory is full. Arguments and answers: redis_stock.cpp, which is their only caller. All but the first answer
/// {none} where there is no stock, and {broken, why}.
extern const char* const kStockCreateScript;
extern const char* const kStockTakeScript;
extern const char* const kStockExtendScript;
extern const char* const kStockConfirmScript;
extern const char* const kStockCancelScript;
extern const char* const kStockRefundScript;
extern const char* const kStockAddScript;
extern const char* const kStockLevelScript;
extern const char* const kStockDropScript;
extern const char* const kStockShowScript;

}  // namespace dlock::redis
