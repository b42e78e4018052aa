// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

// What becomes of a request once it has been served: like a Deduction, each is decided again for every try of its
// StockCall, and says afterwards what the decision that was carried out came to.

struct Confirmation {
  const LockName& id;
  const Owner& owner;
  int segment = -1;  ///< where its reservation most likely is; -1: not known
  bool over = false;

  Result<Step> decide(StockCall& call);
};

struct Cancellation {
  const LockName& id;
  const Owner& owner;
  int segment = -1;

  Result<Step> decide(StockCall& call);
};

struct Refunding {
  const LockName& id;
  std::optional<Quantity> quantity;
  StockParts parts = {};

  Result<Step> decide(StockCall& call);
};

struct Restocking {
  const LockName& id;
  Quantity quantity;
  StockParts parts = {};

  Result<Step> decide(StockCall& call);
};

}  // namespace dlock::zookeeper
