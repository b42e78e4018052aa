// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/lock/owner.h"
#include "lib/stock/stock.h"

namespace dlock {

/// Record of one request id in a store, and its consequences; pure. For stores that decide outside their
/// server (a transaction of ours around read and write).
///
///              take                            refund
///   (nothing) -------> Taken ------------------------------> Refunded
///       |                ^                                      ^
///       | reserve        | confirm                              | take, reserve: Lost
///       +-------> Reserved ---cancel, expiry---> (nothing)      |
///       | refund: nothing was taken                             |
///       +---------------------------------------------------> Refused
///       | add
///       +-------> Added
struct RequestRecord {
  enum class State : char { kReserved = 'R', kTaken = 'T', kRefunded = 'G', kRefused = 'X', kAdded = 'A' };
  State state = State::kTaken;
  Quantity quantity = 0;
  StockParts parts;
  std::string owner;      ///< of the reservation that it was, or is; empty: there was none
  Quantity refunded = 0;  ///< with kRefunded: the sum of all refunds

  /// One refund; refund_word() names it.
  struct Refund {
    std::string word;
    Quantity quantity = 0;
  };
  std::vector<Refund> refunds = {};  ///< in their order; empty: there is none, or only one without an id
};

/// Name of a refund in a record: its id in hex digits; "-": it has none.
std::string refund_word(const StockRefund& refund);

/// "T 5 3:2,4:3 OWNER 0", and back (Invalid). An empty list or owner is "-". With refunds that have ids these follow:
/// "G 5 3:2,4:3 OWNER 4 7231:3,-:1".
std::string record_text(const RequestRecord& record);
Result<RequestRecord> parse_record(std::string_view text);

/// Decision of `record` (null: none) on a take (`owner` null) or a reservation: an answer to give, an error, or
/// nullopt: go on and deduct.
Result<std::optional<StockAnswer>> answer_again(const RequestRecord* record, const StockRequest& request,
                                                const Owner* owner);

/// Whether the request was sold to this owner (even if refunded since), or taken without an owner and not refunded.
bool is_sold_to(const RequestRecord& record, const Owner& owner);

/// Changes and answer of a refund.
struct RefundPlan {
  StockParts back;       ///< to be given back now; nothing if it was done before, or took nothing
  StockParts answer;     ///< the parts for the caller
  RequestRecord record;  ///< to be remembered; as before if it was done before
};
Result<RefundPlan> plan_refund(const RequestRecord* record, const StockRefund& refund);

}  // namespace dlock
