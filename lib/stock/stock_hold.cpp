// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_hold.h"

#include "lib/lock/lease.h"
#include "lib/stock/taking.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kGiveBackBudget = 3s;
constexpr Duration kLateGiveBackBudget = 1s;  ///< of what may have been set aside, when the wait is over

Error repeated(const StockRequest& request, const StockTaken& taken) {
  return {ErrorCode::kRepeated, "request '" + request.id.text() + "' has its " + std::to_string(request.quantity) +
                                    " of " + request.stock.text() + " already (" + parts_text(taken.parts) +
                                    "): nothing was run"};
}

/// The request may have been done, or be done yet.
bool is_unknown(const Error& error) {
  return error.code == ErrorCode::kCancelled || (error.code == ErrorCode::kUnavailable && !error.undone);
}

}  // namespace

StockHold::StockHold(std::shared_ptr<Stock> stock, const LockSpec& spec, const Runtime& runtime)
    : stock_(std::move(stock)),
      spec_(spec),
      patience_(spec.wait),
      runtime_(runtime),
      request_{spec.name, spec.stock->id, spec.stock->quantity, spec.stock->lock_segment} {}

std::optional<std::variant<Granted, Refused>> StockHold::acquire(Control& control) {
  const auto next = [&](int start, const CallLimit& limit) {
    auto answer = reserve(start, limit);
    if (answer && !std::holds_alternative<StockTaken>(*answer)) answer_who(control, limit);
    return answer;
  };
  const auto pause = [&](const StockInProgress::Turn& turn, Duration length, const CallLimit& limit) {
    return stock_->wait_for(request_.stock, turn, length, limit);
  };
  auto taken = take_when_possible(request_, next, spec_.wait, runtime_.clock, &control, pause);
  if (taken && !taken->repeated && !control.stop_requested()) {
    HeldLock held{spec_.name, spec_.owner, taken->token, stock_->store()};
    held.parts = parts_text(taken->parts);
    return Granted{{std::move(held)}, lease_deadline(sent_, spec_.ttl)};
  }
  // An attempt whose answer was lost may have set something aside.
  if (unknown_ || (taken ? !taken->repeated : is_unknown(taken.error())))
    give_back(behind_the_wait(kLateGiveBackBudget));
  if (control.stop_requested()) return std::nullopt;
  if (taken) return Refused{repeated(request_, *taken), std::nullopt};
  const CallLimit soon{behind_the_wait(kGiveBackBudget), &control};
  return Refused{with_nearest_stock(taken.error(), *stock_, request_.stock, soon), std::nullopt};
}

/// The answer to the same request says what an attempt before it has set aside.
Result<StockAnswer> StockHold::reserve(int start, const CallLimit& limit) {
  sent_ = runtime_.clock.now();
  auto answer = stock_->reserve(request_, spec_.owner, spec_.ttl, start, limit);
  unknown_ = !answer && (unknown_ || is_unknown(answer.error()));
  return answer;
}

/// With the requests that hold the locks of segments; of those that have only set items aside nothing is known.
void StockHold::answer_who(Control& control, const CallLimit& limit) {
  if (!control.take_who()) return;
  LockState state{.name = spec_.name, .store = stock_->store(), .holders = {}, .waiters = {}};
  if (const auto seen = stock_->show(request_.stock, limit)) {
    for (const StockSegment& segment : seen->segments) {
      if (segment.locked_by) state.holders.emplace_back().reason = "request " + segment.locked_by->text();
    }
  }
  control.tell(Waiting{std::move(state)});
}

TimePoint StockHold::behind_the_wait(Duration budget) const {
  return patience_.withdraw_end(runtime_.clock.now(), budget);
}

Renewal StockHold::renew(Control& control, TimePoint until) {
  const TimePoint sent = runtime_.clock.now();
  const auto extended = stock_->extend(request_, spec_.owner, spec_.ttl, {until, &control});
  if (!extended && extended.error().code == ErrorCode::kLost) return RenewalLost{extended.error().message};
  if (!extended) return RenewalUnknown{extended.error().message};
  sent_ = sent;
  return RenewalRenewed{lease_deadline(sent, spec_.ttl)};
}

Result<void> StockHold::release(TimePoint until) {
  const auto end = [&](const CallLimit& limit) {
    if (sold_) return stock_->confirm(request_, spec_.owner, limit);
    auto cancelled = stock_->cancel(request_, spec_.owner, limit);
    // Sold by another command since the reservation was over: nothing of ours is set aside.
    return !cancelled && cancelled.error().code == ErrorCode::kConflict ? Result<void>() : cancelled;
  };
  return insist(end, until, runtime_.clock, nullptr);
}

void StockHold::give_back(TimePoint until) {
  (void)insist([&](const CallLimit& limit) { return stock_->cancel(request_, spec_.owner, limit); }, until,
               runtime_.clock, nullptr);
}

}  // namespace dlock
