// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/zookeeper/stock/stock_call.h"

namespace dlock::zookeeper {

// The changes of a request after its take or reservation, and restocking. Like a Deduction, each decides anew for every
// try of its StockCall; afterwards its members tell the result of the decision that was carried out.

struct Confirmation {
  const LockName& id;
  const Owner& owner;
  int segment = -1;   ///< where its reservation most likely is; -1: not known
  bool over = false;  ///< result: the reservation had ended

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
