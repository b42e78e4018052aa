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

std::vector<std::string> take_words(const StockRequest& request, int start, const std::string& owner, Duration ttl) {
  const std::string only = request.only_segment ? std::to_string(*request.only_segment) : "";
  return {
      request.id.text(), std::to_string(request.quantity), std::to_string(start), only, ms_text(kKeepRequests), owner,
      ms_text(ttl)};
}

std::vector<std::string> confirm_words(const LockName& id, const Owner& owner) {
  return {id.text(), owner.text(), ms_text(kKeepRequests)};
}

std::vector<std::string> refund_words(const StockRefund& refund) {
  return {refund.id.text(), refund.quantity ? std::to_string(*refund.quantity) : "", ms_text(kKeepRequests),
          refund_word(refund), std::to_string(kMostRefunds)};
}

std::vector<std::string> add_words(const LockName& id, Quantity quantity) {
  return {id.text(), std::to_string(quantity), ms_text(kKeepRequests)};
}

void append(Command& command, std::vector<std::string> words) {
  command.insert(command.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
}

std::string script_text(const char* script, StockCounters counters) { return std::string(text_of(counters)) + script; }

std::string take_at_once_text(StockCounters counters) {
  return "local KEEP='" + ms_text(kKeepRequests) + "'" + at_once_text_of(counters);
}

}  // namespace dlock::redis
