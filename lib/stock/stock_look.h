// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lib/rows/rows.h"
#include "lib/stock/stock_rows.h"

namespace dlock {

/// What a stock and some of its requests were at one moment.
struct StockLook {
  std::int64_t now_us = 0;
  std::optional<StockHead> head = {};        ///< nullopt: there is no such stock
  std::vector<SegmentCounts> segments = {};  ///< of all rows, if they were asked for
  std::map<LockName, SeenRequest> requests = {};
  bool drawn = false;  ///< of a decision: items in `segments` have been promised to a step

  Quantity available() const;
  Quantity reserved() const;
  std::vector<Quantity> quantities() const;
};

/// Reads it: the head, `ids`, and with `all` every segment, in one read; once more if it has turned out to have another
/// number of them than `known` says, which is then what it is. Misconfigured for rows that make no sense.
Result<StockLook> look_at_stock(Rows& rows, const LockName& name, std::optional<StockHead>& known,
                                const std::vector<LockName>& ids, bool all, const CallLimit& limit);

}  // namespace dlock
