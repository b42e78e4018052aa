// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_scripts.h"

#include <chrono>
#include <iterator>

#include "backends/redis/stock/scripts.h"
#include "lib/stock/request_record.h"

namespace dlock::redis {
namespace {

const char* text_of(StockCounters counters) {
  constexpr const char* kTexts[] = {stock_scripts::kCountersHash, stock_scripts::kCountersPlain,
                                    stock_scripts::kCountersTair};
  return kTexts[static_cast<std::size_t>(counters)];
}

const char* at_once_text_of(StockCounters counters) {
  constexpr const char* kTexts[] = {stock_scripts::kTakeAtOnceHash, stock_scripts::kTakeAtOncePlain,
                                    stock_scripts::kTakeAtOnceTair};
  return kTexts[static_cast<std::size_t>(counters)];
}

}  // namespace

std::string milliseconds(Duration d) { return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()); }

std::vector<std::string> take_words(const StockRequest& request, int start, const std::string& owner, Duration ttl) {
  const std::string only = request.only_segment ? std::to_string(*request.only_segment) : "";
  return {request.id.text(),
          std::to_string(request.quantity),
          std::to_string(start),
          only,
          milliseconds(kKeepRequests),
          owner,
          milliseconds(ttl)};
}

std::vector<std::string> confirm_words(const LockName& id, const Owner& owner) {
  return {id.text(), owner.text(), milliseconds(kKeepRequests)};
}

std::vector<std::string> refund_words(const StockRefund& refund) {
  return {refund.id.text(), refund.quantity ? std::to_string(*refund.quantity) : "", milliseconds(kKeepRequests),
          refund_word(refund), std::to_string(kMostRefunds)};
}

std::vector<std::string> add_words(const LockName& id, Quantity quantity) {
  return {id.text(), std::to_string(quantity), milliseconds(kKeepRequests)};
}

void append(Command& command, std::vector<std::string> words) {
  command.insert(command.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
}

std::string script_text(const char* script, StockCounters counters) { return std::string(text_of(counters)) + script; }

std::string take_at_once_text(StockCounters counters) {
  return "local KEEP='" + milliseconds(kKeepRequests) + "'" + at_once_text_of(counters);
}

}  // namespace dlock::redis
