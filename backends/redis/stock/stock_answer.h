// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/stock/stock_slots.h"

namespace dlock::redis {

/// "SEGMENT:QUANTITY,...@ATTEMPT", "-" for no parts; Invalid.
Result<SlotParts> parse_slot_parts(std::string_view text);
/// "BOOK SEGMENT:QUANTITY,...", "-" for nothing; Invalid.
Result<PendingCredit> parse_credit(std::string id, const std::string& text);

/// The answer of a stock's script: its first word, and texts or lists. REQUIRES: an array with an element.
class StockReply {
 public:
  explicit StockReply(Reply reply) : reply_(std::move(reply)) {}
  /// One of several answers in a reply: "WORD TEXT ...".
  explicit StockReply(std::string_view words);

  bool is(std::string_view word) const { return reply_.elements[0].text == word; }
  bool has(std::string_view word, std::size_t texts) const { return is(word) && reply_.elements.size() == texts + 1; }
  const std::vector<Reply>& list(std::size_t i) const { return reply_.elements[i].elements; }
  /// REQUIRES: there are as many.
  std::string_view view(std::size_t i) const { return reply_.elements[i].text; }
  std::string text(std::size_t i) const { return i < reply_.elements.size() ? reply_.elements[i].text : std::string(); }
  Quantity quantity(std::size_t i) const {
    const auto number = parse_quantity(text(i), 0);
    return number ? *number : 0;
  }

 private:
  Reply reply_;
};

/// What the scripts of requests answer, in the words of the port. Pure.
class StockAnswers {
 public:
  explicit StockAnswers(const std::string& store) : store_(store) {}

  Error not_understood() const;
  Result<void> ok(const Result<StockReply>& answer) const;
  /// What was taken for good.
  Result<SlotAnswer> taken(std::string_view parts, bool repeated) const;
  Result<SlotAnswer> deduction(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<SlotParts> sale(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<SlotParts> cancellation(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<SlotChange> refund(const LockName& id, std::optional<Quantity> quantity,
                            const Result<StockReply>& answer) const;
  Result<SlotChange> restock(const LockName& id, Quantity quantity, const Result<StockReply>& answer) const;
  /// What a step at the only slot has come to.
  Result<StepAnswer> step(const LockName& stock, const StockStep& step, const Result<StockReply>& answer) const;

 private:
  Result<SlotParts> parts_of(const Result<StockReply>& answer) const;
  Result<SlotChange> change(const LockName& id, const StockReply& answer) const;

  const std::string store_;
};

}  // namespace dlock::redis
