// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/taking.h"

#include <algorithm>
#include <utility>

#include "lib/base/random.h"
#include "lib/lock/patience.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kShortestPause = 4ms;
constexpr Duration kLongestPause = 128ms;
constexpr int kTurns = 4;  ///< that are waited for as they were told
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
          "add items with: dlock stock add --qty N " + request.stock.typed(), false, by.available};
}

Error may_come_back(const StockRequest& request, const StockShort& by) {
  return {ErrorCode::kBusy,
          request.stock.text() + ": " + std::to_string(request.quantity) + " wanted, " + std::to_string(by.available) +
              " left, and " + std::to_string(by.reserved) +
              " set aside for commands that still run: it may come back, or be sold",
          "wait longer with --wait 5m, or see: dlock stock show " + request.stock.typed()};
}

Error in_progress(const StockRequest& request, const StockInProgress& by) {
  if (by.locked) {
    return {ErrorCode::kBusy, request.stock.text() + ": other commands hold the locks of its segments",
            "wait longer with --wait 5m, or give it more segments: dlock stock resize --segments S " +
                request.stock.typed()};
  }
  return {ErrorCode::kBusy, "request '" + request.id.text() + "' is being served by another command right now",
          "wait longer with --wait 5m"};
}

class Taking {
 public:
  Taking(const StockRequest& request, const WaitPolicy& wait, Clock& clock, Control* control, const StockPause& pause)
      : request_(request), patience_(wait), clock_(clock), control_(control), pause_(pause) {}

  Result<StockTaken> run(const StockAttempt& attempt) {
    while (true) {
      const TimePoint began = clock_.now();
      const TimePoint until = std::min(patience_.attempt_end(began), began + kCallBudget);
      auto answer = attempt(turn_ ? turn_->segment : start_by_chance(), {until, control_});
      turn_.reset();
      if (control_ && control_->stop_requested() && !answer) return cancelled();
      if (!answer) {
        if (auto over = unreachable(answer.error(), began, until)) return std::move(*over);
      } else {
        patience_.reached();
        why_.reset();
        if (auto* taken = std::get_if<StockTaken>(&*answer)) return std::move(*taken);
        if (const auto* by = std::get_if<StockInProgress>(&*answer)) turn_ = by->locked;
        if (looks_at_all()) continue;
        if (auto over = refused(*answer)) return std::move(*over);
      }
      if (!wait()) return cancelled();
    }
  }

 private:
  /// Who knows when its turn may come waits for that; only if it did not come a few times, longer.
  bool wait() {
    const int tries = tries_++;
    const TimePoint now = clock_.now();
    if (!turn_ || !pause_) return rest(clock_, *earlier(now + pause_after(tries), patience_.until()), control_);
    const Duration least = tries < kTurns ? kShortestPause / 4 : pause_after(tries - kTurns);
    const Duration pause = std::clamp(turn_->in, least, std::max(least, kLongestPause));
    return pause_(*turn_, pause, {patience_.until().value_or(now + kCallBudget), control_});
  }

  Error cancelled() const { return {ErrorCode::kCancelled, "given up on request"}; }

  /// Unless there is little time, it gets a second try.
  std::optional<Error> unreachable(const Error& error, TimePoint began, TimePoint until) {
    if (error.code != ErrorCode::kUnavailable) return error;
    undone_ = undone_ && error.undone;
    if (error.outage == Outage::kCrowded) return crowded_out(error);
    const TimePoint now = clock_.now();
    const bool hurried = patience_.is_once() || patience_.connect_timeout() < kCallBudget;
    patience_.failed(error, hurried ? began : now, now);
    if (!why_ || now < until) why_ = error;
    why_->undone = undone_;
    return outlives(error, now) ? std::nullopt : why_;
  }

  /// By others who change it: the store is there, and whoever waits gets in.
  std::optional<Error> crowded_out(Error error) {
    patience_.reached();
    why_.reset();
    if (!is_last()) return std::nullopt;
    error.undone = undone_;
    return busy_if_crowded(std::move(error));
  }

  /// One that is asked once gets the time of a first contact.
  bool outlives(const Error& error, TimePoint now) const {
    if (!patience_.is_once()) return patience_.outlives(error, now);
    return !patience_.is_long_outage(now) && !patience_.is_over(now);
  }

  bool is_last() const { return patience_.is_once() || patience_.is_over(clock_.now()); }

  /// Before who was locked out gives up.
  bool looks_at_all() { return is_last() && turn_ && !turn_->of_all && !std::exchange(looked_at_all_, true); }

  std::optional<Error> refused(const StockAnswer& answer) const {
    const bool over = is_last();
    if (const auto* by = std::get_if<StockShort>(&answer)) {
      if (by->available + by->reserved < request_.quantity) return is_short(request_, *by);
      return over ? std::optional(may_come_back(request_, *by)) : std::nullopt;
    }
    return over ? std::optional(in_progress(request_, std::get<StockInProgress>(answer))) : std::nullopt;
  }

  const StockRequest& request_;
  Patience patience_;
  Clock& clock_;
  Control* control_;
  const StockPause& pause_;
  int tries_ = 0;
  std::optional<StockInProgress::Turn> turn_;  ///< that it waits for
  bool looked_at_all_ = false;
  bool undone_ = true;        ///< no try was without an answer
  std::optional<Error> why_;  ///< of a try that had its time: says more than that the last one had none
};

}  // namespace

Result<StockTaken> take_when_possible(const StockRequest& request, const StockAttempt& attempt, const WaitPolicy& wait,
                                      Clock& clock, Control* control, const StockPause& pause) {
  return Taking(request, wait, clock, control, pause).run(attempt);
}

Error busy_if_crowded(Error error) {
  if (error.outage == Outage::kCrowded && error.undone) error.code = ErrorCode::kBusy;
  return error;
}

int start_by_chance() { return static_cast<int>(spread_below(1 << 24)); }

}  // namespace dlock
