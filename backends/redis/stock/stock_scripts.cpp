// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_scripts.h"

#include "backends/redis/stock/scripts.h"

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

}  // namespace

std::string script_text(const char* script, StockCounters counters, int first, int step) {
  return "local FIRST,STEP=" + std::to_string(first) + "," + std::to_string(step) + text_of(counters) + script;
}

}  // namespace dlock::redis
