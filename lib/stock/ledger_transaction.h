// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/stock/stock_ledger.h"

namespace dlock {

/// One transaction of `ledger`, repeated as long as that is worth it; an Error of `body` undoes all of it.
template <typename T, typename Body>
Result<T> in_transaction(StockLedger& ledger, StockLedger::Access access, const CallLimit& limit, Body body) {
  while (true) {
    if (auto begun = ledger.begin(access, limit); !begun) {
      if (ledger.is_worth_repeating()) continue;
      return begun.error();
    }
    Result<T> answer = body();
    const auto done = answer || ledger.failed() ? ledger.commit() : ledger.conclude();
    if (done) return answer;
    if (!ledger.is_worth_repeating()) return done.error();  // it explains whatever came after it
  }
}

}  // namespace dlock
