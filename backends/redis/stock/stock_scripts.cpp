// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_scripts.h"

#include "backends/redis/stock/scripts.h"
#include "backends/redis/stock/stock_words.h"

namespace dlock::redis {
namespace {

const char* text_of(StockCounters counters) {
  switch (counters) {
    case StockCounters::kHash:
      return stock_scripts::kCountersHash;
    case StockCounters::kPlain:
      return stock_scripts::kCountersPlain;
    case StockCounters::kTair:
      return stock_scripts::kCountersTair;
  }
  return stock_scripts::kCountersHash;
}

const char* at_once_text_of(StockCounters counters) {
  switch (counters) {
    case StockCounters::kHash:
      return stock_scripts::kTakeAtOnceHash;
    case StockCounters::kPlain:
      return stock_scripts::kTakeAtOncePlain;
    case StockCounters::kTair:
      return stock_scripts::kTakeAtOnceTair;
  }
  return stock_scripts::kTakeAtOnceHash;
}

}  // namespace

std::string script_text(const char* script, StockCounters counters) { return std::string(text_of(counters)) + script; }

std::string take_at_once_text(StockCounters counters) {
  return "local KEEP='" + milliseconds(kKeepRequests) + "'" + at_once_text_of(counters);
}

}  // namespace dlock::redis
