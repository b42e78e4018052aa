// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/rows/rows.h"
#include "lib/stock/request_record.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The rows of a stock, whose group is its name; pure.
///
///   head         "SEGMENTS ROWS CREATED ADDED MAKER": ROWS segments have rows, the first SEGMENTS of them are used
///   segment/0 .. "QUANTITY RESERVED TAKEN REFUNDED": TAKEN counts what is set aside as well, so that it can be sold
///   request/ID   RECORD (request_record.h): of two with one id, one finds it there
///   open/ID      "TTL_US LOCKS RECORD", beside that of a reservation: it is over so long after this row was written.
///                It says all that it takes to give it back, because a store forgets requests in time. LOCKS: "-", or
///                the version of the locks that it holds, 0: this row's own
///   lock/0 ..    the id of the reservation that holds this segment's lock, or nothing: filled and emptied with it, so
///                that whoever may give back the one gives back the other
///
/// A segment's row stays when the stock has fewer segments: what was set aside in it ends there, its items are moved to
/// the others, and what comes back goes to its home_of(). Who takes needs to know nothing of that: whatever
/// segment it takes from, it has them or not. Only who gives items to a segment checks the head's version.
inline constexpr RowSpace kStockSpace{"stock", "request/", std::chrono::days(30)};
inline constexpr char kHeadRow[] = "head";
inline constexpr char kOpenRows[] = "open/";
std::string segment_row(int segment);
std::string lock_row(int segment);
std::string open_row(const LockName& id);
std::string request_row(const LockName& id);

struct StockHead {
  int segments = 0;
  int rows = 0;
  Quantity created = 0;
  Quantity added = 0;
  std::string maker = {};
  Rows::Number version = 0;
};
std::string head_text(const StockHead& head);
std::optional<StockHead> parse_head(const Rows::Row& row);

struct SegmentCounts {
  Quantity quantity = 0;
  Quantity reserved = 0;
  Quantity taken = 0;
  Quantity refunded = 0;
};
std::string counts_text(const SegmentCounts& counts);
std::optional<SegmentCounts> parse_counts(std::string_view text);

/// A request as it was read; no record: there is none.
struct SeenRequest {
  std::optional<RequestRecord> record = {};
  Rows::Number version = 0;                ///< of its row among the requests
  Rows::Number open = 0;                   ///< of that among the reservations
  std::int64_t ends_us = 0;                ///< of a reservation
  std::optional<Rows::Number> locks = {};  ///< version of the locks that it holds of its segments

  bool is_open() const { return record && record->state == RequestRecord::State::kReserved; }
  bool is_open_for(const Owner& owner) const { return is_open() && record->owner == owner.text(); }
  bool is_over(std::int64_t now_us) const { return is_open() && ends_us <= now_us; }
};
/// Invalid for rows that make no sense.
Result<SeenRequest> see_request(const Rows::Row& request, const Rows::Row& open);

/// Items on their way, by segment: one kAdd each.
class SegmentChanges {
 public:
  void move(int segment, const SegmentCounts& change);
  void add_to(Rows::Commit& commit) const;

 private:
  std::map<int, SegmentCounts> changes_;
};

// What a step of a stock commits. `record` is that of the request after it.
Rows::Commit sale_commit(const LockName& id, const RequestRecord& record);
Rows::Commit reservation_commit(const LockName& id, const RequestRecord& record, Duration ttl, bool locks);
Rows::Commit extension_commit(const LockName& id, const SeenRequest& seen, Duration ttl);
Rows::Commit confirmation_commit(const LockName& id, const SeenRequest& seen);
Rows::Commit return_commit(const LockName& id, const SeenRequest& seen, const StockHead& head);
Rows::Commit refund_commit(const LockName& id, const SeenRequest& seen, const RefundPlan& plan, const StockHead& head);
Rows::Commit restock_commit(const LockName& id, const RequestRecord& record, StockHead head);
/// Moves items between segments, `by[i]` to segment i; they sum up to 0.
Rows::Commit move_commit(const std::vector<Quantity>& by, const StockHead& head);

}  // namespace dlock
