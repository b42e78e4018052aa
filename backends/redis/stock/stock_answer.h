// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/wire/reply.h"
#include "lib/stock/stock.h"

namespace dlock::redis {

/// Parses "SEGMENT:QUANTITY,..."; "-" means no parts. Invalid for another form.
Result<StockParts> parse_answered(std::string_view text);

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

/// Translates the answers of the scripts into results of the port Stock. Pure.
class StockAnswers {
 public:
  explicit StockAnswers(const std::string& store) : store_(store) {}

  Error not_understood() const;
  Result<void> ok(const Result<StockReply>& answer) const;
  Result<StockAnswer> deduction(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<void> sale(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<void> cancellation(const StockRequest& request, const Result<StockReply>& answer) const;
  Result<StockParts> refund(const StockRefund& refund, const Result<StockReply>& answer) const;
  Result<StockParts> restock(const LockName& id, Quantity quantity, const Result<StockReply>& answer) const;
  /// The answer to a step of a batch.
  Result<StepAnswer> step(const LockName& stock, const StockStep& step, const Result<StockReply>& answer) const;

 private:
  Result<StockParts> change(std::string_view word, const StockReply& answer) const;

  const std::string store_;
};

}  // namespace dlock::redis
