// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_scripts.h"

#include "backends/redis/stock/scripts.h"
#include "backends/redis/stock/stock_words.h"

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

std::string script_text(const char* script, StockCounters counters) { return std::string(text_of(counters)) + script; }

std::string take_at_once_text(StockCounters counters) {
  return "local KEEP='" + milliseconds(kKeepRequests) + "'" + at_once_text_of(counters);
}

}  // namespace dlock::redis
