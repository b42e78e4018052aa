// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_deduction.h"

#include "lib/stock/take_order.h"

namespace dlock::zookeeper {

using State = RequestRecord::State;

Result<Step> Deduction::decide(StockCall& call) {
  const int start = request_.only_segment.value_or((start_ + call.tries()) % call.segments());
  const bool is_there = start < call.segments();
  bool given = false;
  const auto seen = call.request_now(request_.id, &given, is_there ? start : -1);
  if (!seen) return seen.error();
  if (given) return Step::kWriteThenRead;
  auto again = dlock::answer_again(*seen ? &(*seen)->note.record : nullptr, request_, owner_);
  if (!again) return again.error();
  if (*again) return answer_again(call, **seen, std::move(**again));
  if (is_there && call.counts(start).quantity >= request_.quantity) return deduct(call, {{start, request_.quantity}});
  return look_everywhere(call, start);
}

Result<Step> Deduction::answer_again(StockCall& call, const SeenNote& seen, StockAnswer answer) {
  answer_ = std::move(answer);
  const auto* taken = std::get_if<StockTaken>(&answer_);
  if (!taken || taken->repeated) return Step::kConclude;
  call.remember(request_.id, {seen.note.record, ttl_ms_}, seen);
  return Step::kWrite;
}

Result<Step> Deduction::look_everywhere(StockCall& call, int start) {
  bool steady = false;
  if (auto loaded = call.load_all(&steady); !loaded) return loaded.error();
  const std::vector<Quantity> have = call.quantities();
  auto parts = request_.only_segment ? choose_from(have, start, request_.quantity)
                                     : choose_parts(have, start, request_.quantity);
  if (parts) return deduct(call, std::move(*parts));
  return steady ? say_short(call) : Step::kReadAgain;
}

/// Unless something comes back whose time is over.
Result<Step> Deduction::say_short(StockCall& call) {
  const auto swept = call.open() > 0 ? call.sweep() : Result<bool>(false);
  if (!swept) return swept.error();
  if (*swept) return Step::kWriteThenRead;
  StockShort by;
  for (int i = 0; i < call.segments(); ++i) {
    by.available += call.counts(i).quantity;
    by.reserved += call.counts(i).reserved;
  }
  answer_ = by;
  return Step::kConclude;
}

Result<Step> Deduction::deduct(StockCall& call, StockParts parts) {
  StockNote note{{State::kTaken, request_.quantity, parts, {}, 0}, 0};
  StockCounts each{.quantity = -1, .taken = 1};
  if (owner_) {
    note = {{State::kReserved, request_.quantity, parts, owner_->text(), 0}, ttl_ms_};
    each = {.quantity = -1, .reserved = 1};
    call.open_reservation(request_.id);
  }
  call.remember(request_.id, note, std::nullopt);
  if (auto moved = call.move_parts(parts, each); !moved) return moved.error();
  answer_ = StockTaken{std::move(parts), {}, false};
  return Step::kWrite;
}

}  // namespace dlock::zookeeper
