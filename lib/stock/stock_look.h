// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/rows/rows.h"
#include "lib/stock/stock.h"
#include "lib/stock/stock_rows.h"

namespace dlock {

/// What is looked at beside the head and requests.
struct Sight {
  bool segments = false;  ///< all of them
  int locks = -1;         ///< and their locks; without segments, of some from this one on; negative: no locks
  bool few = false;       ///< the segments only if there are so few that one reading shows them
};

/// What a stock and some of its requests were at one moment.
struct StockLook {
  std::int64_t now_us = 0;
  std::optional<StockHead> head = {};        ///< nullopt: there is no such stock
  std::vector<SegmentCounts> segments = {};  ///< of all rows, if they were asked for
  std::map<int, Rows::Row> locks = {};       ///< those that were asked for, by segment; without text: free
  std::map<LockName, SeenRequest> requests = {};
  bool drawn = false;  ///< of a decision: items in `segments` have been promised to a step

  Quantity available() const;
  Quantity reserved() const;
  std::vector<Quantity> quantities() const;
  /// The same, but nothing of a segment whose lock is held.
  std::vector<Quantity> unlocked() const;
  bool is_locked(int segment) const;
  std::optional<LockName> lock_holder(int segment) const;
  /// Of the locks that are held one by chance, and when it will be free if all are held for about as long as the one
  /// that is held for longest.
  StockInProgress::Turn turn(int by_chance) const;
  /// Whether one of them is held for so long that its reservation may be over.
  bool has_old_locks() const;
};

/// The locks that are looked at by who wants any, from one on.
std::vector<int> locks_from(int first, int segments);

/// Reads it in one read: the head, `ids`, and what `sight` says; once more if it has turned out to have more segments
/// than `known` says, which is then what it is, or than those whose locks were read without knowing it. Misconfigured
/// for rows that make no sense.
Result<StockLook> look_at_stock(Rows& rows, const LockName& name, std::optional<StockHead>& known,
                                const std::vector<LockName>& ids, const Sight& sight, const CallLimit& limit);

}  // namespace dlock
