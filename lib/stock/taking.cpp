// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/taking.h"

#include <algorithm>

#include "lib/base/random.h"
#include "lib/lock/patience.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kShortestPause = 4ms;
constexpr Duration kLongestPause = 128ms;
constexpr Duration kCallBudget = 5s;

/// Grows from 4 ms to 128 ms, by chance between its half and the whole.
Duration pause_after(int tries) {
  const Duration whole = std::min(kLongestPause, kShortestPause * (1 << std::min(tries, 10)));
  return whole / 2 + jitter(whole / 2);
}

Error is_short(const StockRequest& request, const StockShort& by) {
  return {ErrorCode::kShort,
          request.stock.text() + " is short: " + std::to_string(request.quantity) + " wanted, " +
              std::to_string(by.available) + " left" +
              (by.reserved > 0 ? " and " + std::to_string(by.reserved) + " set aside" : "") + "; nothing was taken",
          "add items with: dlock stock add --qty N " + request.stock.typed()};
}

Error may_come_back(const StockRequest& request, const StockShort& by) {
  return {ErrorCode::kBusy,
          request.stock.text() + ": " + std::to_string(request.quantity) + " wanted, " + std::to_string(by.available) +
              " left, and " + std::to_string(by.reserved) +
              " set aside for commands that still run: it may come back, or be sold",
          "wait longer with --wait 5m, or see: dlock stock show " + request.stock.typed()};
}

Error in_progress(const StockRequest& request) {
  return {ErrorCode::kBusy, "request '" + request.id.text() + "' is being served by another command right now",
          "wait longer with --wait 5m"};
}

class Taking {
 public:
  Taking(const StockRequest& request, const WaitPolicy& wait, Clock& clock, Control* control)
      : request_(request), patience_(wait), clock_(clock), control_(control) {}

  Result<StockTaken> run(const StockAttempt& attempt) {
    while (true) {
      const TimePoint began = clock_.now();
      const TimePoint until = std::min(patience_.attempt_end(began), began + kCallBudget);
      auto answer = attempt(start_by_chance(), {until, control_});
      if (control_ && control_->stop_requested() && !answer) return cancelled();
      if (!answer) {
        if (auto over = unreachable(answer.error(), began, until)) return std::move(*over);
      } else {
        patience_.reached();
        why_.reset();
        if (auto* taken = std::get_if<StockTaken>(&*answer)) return std::move(*taken);
        if (auto over = refused(*answer)) return std::move(*over);
      }
      const TimePoint next = clock_.now() + pause_after(tries_++);
      if (!rest(clock_, *earlier(next, patience_.until()), control_)) return cancelled();
    }
  }

 private:
  Error cancelled() const { return {ErrorCode::kCancelled, "given up on request"}; }

  /// A stock that many change at once fails as one does whose server is gone: unless there is little time, it gets a
  /// second try.
  std::optional<Error> unreachable(const Error& error, TimePoint began, TimePoint until) {
    if (error.code != ErrorCode::kUnavailable) return error;
    undone_ = undone_ && error.undone;
    const TimePoint now = clock_.now();
    const bool hurried = patience_.is_once() || patience_.connect_timeout() < kCallBudget;
    patience_.unreached(hurried ? began : now);
    if (!why_ || now < until) why_ = error;
    why_->undone = undone_;
    return patience_.is_long_outage(now) || patience_.is_over(now) ? why_ : std::nullopt;
  }

  std::optional<Error> refused(const StockAnswer& answer) const {
    const bool over = patience_.is_once() || patience_.is_over(clock_.now());
    if (const auto* by = std::get_if<StockShort>(&answer)) {
      if (by->available + by->reserved < request_.quantity) return is_short(request_, *by);
      return over ? std::optional(may_come_back(request_, *by)) : std::nullopt;
    }
    return over ? std::optional(in_progress(request_)) : std::nullopt;
  }

  const StockRequest& request_;
  Patience patience_;
  Clock& clock_;
  Control* control_;
  int tries_ = 0;
  bool undone_ = true;        ///< no try was without an answer
  std::optional<Error> why_;  ///< of a try that had its time: says more than that the last one had none
};

}  // namespace

Result<StockTaken> take_when_possible(const StockRequest& request, const StockAttempt& attempt, const WaitPolicy& wait,
                                      Clock& clock, Control* control) {
  return Taking(request, wait, clock, control).run(attempt);
}

int start_by_chance() { return static_cast<int>(spread_below(1 << 24)); }

}  // namespace dlock
