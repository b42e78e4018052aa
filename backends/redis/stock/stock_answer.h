// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/stock/stock_slots.h"

namespace dlock::redis {

/// Parses "SEGMENT:QUANTITY,...@ATTEMPT"; "-" means no parts. Invalid for another form.
Result<SlotParts> parse_slot_parts(std::string_view text);
/// Parses "BOOK SEGMENT:QUANTITY,..."; "-" means no items. Invalid for another form.
Result<PendingCredit> parse_credit(std::string id, const std::string& text);

/// The answer of a stock's script: a word, then texts or lists. REQUIRES: an array with at least one element.
class StockReply {
 public:
  explicit StockReply(Reply reply) : reply_(std::move(reply)) {}
  /// One of several answers in a reply: "WORD TEXT ...".
  explicit StockReply(std::string_view words);

  bool is(std::string_view word) const { return reply_.elements[0].text == word; }
  bool has(std::string_view word, std::size_t texts) const { return is(word) && reply_.elements.size() == texts + 1; }
  const std::vector<Reply>& list(std::size_t i) const { return reply_.elements[i].elements; }
  /// Element `i` as a text. REQUIRES: there is one.
  std::string_view view(std::size_t i) const { return reply_.elements[i].text; }
  std::string text(std::size_t i) const { return i < reply_.elements.size() ? reply_.elements[i].text : std::string(); }
  Quantity quantity(std::size_t i) const {
    const auto number = parse_quantity(text(i), 0);
    return number ? *number : 0;
  }

 private:
  Reply reply_;
};

/// Translates the answers of the scripts into results of the port StockSlots. Pure.
class StockAnswers {
 public:
  explicit StockAnswers(const std::string& store) : store_(store) {}

  Error not_understood() const;
  Result<void> ok(const Result<StockReply>& answer) const;
  /// The answer for parts that were taken for good.
  Result<SlotAnswer> taken(std::string_view parts, bool repeated) const;
  Result<SlotAnswer> deduction(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<SlotParts> sale(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<SlotParts> cancellation(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<SlotChange> refund(const LockName& id, std::optional<Quantity> quantity,
                            const Result<StockReply>& answer) const;
  Result<SlotChange> restock(const LockName& id, Quantity quantity, const Result<StockReply>& answer) const;
  /// The answer to a step of a stock that lies in one slot.
  Result<StepAnswer> step(const LockName& stock, const StockStep& step, const Result<StockReply>& answer) const;

 private:
  Result<SlotParts> parts_of(const Result<StockReply>& answer) const;
  Result<SlotChange> change(const LockName& id, const StockReply& answer) const;

  const std::string store_;
};

}  // namespace dlock::redis
