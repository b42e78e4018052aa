// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_hold.h"

#include <algorithm>

#include "lib/lock/lease.h"
#include "lib/stock/taking.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// How long another holder's lock is waited for at first, and at most, before the segments are looked at again. A
/// process that leaves a queue too soon only makes it slower.
constexpr Duration kFirstLockPass = 1s;
constexpr Duration kLongestLockPass = 16s;
/// How many segments that look free are tried by a process that can wait: the others came at the same time, and more
/// refusals say nothing new.
constexpr int kFreeTries = 2;
constexpr Duration kGiveBackBudget = 3s;
constexpr Duration kLateGiveBackBudget = 1s;  ///< of what may have been set aside, when the wait is over

Error repeated(const StockRequest& request, const StockTaken& taken) {
  return {ErrorCode::kRepeated, "request '" + request.id.text() + "' has its " + std::to_string(request.quantity) +
                                    " of " + request.stock.text() + " already (" + parts_text(taken.parts) +
                                    "): nothing was run"};
}

/// The segments that have enough, from `start` on; those where nothing is set aside come first.
std::vector<int> lock_order(const StockState& state, int start, Quantity quantity) {
  const std::size_t count = state.segments.size();
  std::vector<int> fit;
  for (const bool used : {false, true}) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t segment = (static_cast<std::size_t>(start) + i) % count;
      const StockSegment& one = state.segments[segment];
      if (one.quantity >= quantity && (one.reserved > 0) == used) fit.push_back(static_cast<int>(segment));
    }
  }
  return fit;
}

/// The request may have been done, or be done yet.
bool is_unknown(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kCancelled;
}

Error segments_are_locked(const StockRequest& request) {
  return {
      ErrorCode::kBusy, request.stock.text() + ": other commands hold the locks of its segments",
      "wait longer with --wait 5m, or give it more segments: dlock stock resize --segments S " + request.stock.typed()};
}

/// The worse of two answers; of two deadlines the earlier.
Renewal both(Renewal a, Renewal b) {
  if (std::holds_alternative<RenewalLost>(a)) return a;
  if (std::holds_alternative<RenewalLost>(b)) return b;
  if (std::holds_alternative<RenewalUnknown>(a) || std::holds_alternative<RenewalHeld>(b)) return a;
  if (std::holds_alternative<RenewalUnknown>(b) || std::holds_alternative<RenewalHeld>(a)) return b;
  return RenewalRenewed{std::min(std::get<RenewalRenewed>(a).deadline, std::get<RenewalRenewed>(b).deadline)};
}

}  // namespace

StockHold::StockHold(std::shared_ptr<Stock> stock, const LockSpec& spec, OpenSegmentLock open_lock,
                     const Runtime& runtime)
    : stock_(std::move(stock)),
      spec_(spec),
      patience_(spec.wait),
      open_lock_(std::move(open_lock)),
      runtime_(runtime),
      request_{spec.name, spec.stock->id, spec.stock->quantity},
      lock_pass_(kFirstLockPass) {}

std::optional<std::variant<Granted, Refused>> StockHold::acquire(Control& control) {
  const auto next = [&](int start, const CallLimit& limit) { return attempt(control, start, limit); };
  auto taken = take_when_possible(request_, next, spec_.wait, runtime_.clock, &control);
  if (!taken && taken.error().code == ErrorCode::kBusy && locked_out_) taken = segments_are_locked(request_);
  if (taken && !taken->repeated && !control.stop_requested()) {
    HeldLock held{spec_.name, spec_.owner, taken->token, stock_->store()};
    held.parts = parts_text(taken->parts);
    auto deadline = std::optional(lease_deadline(sent_, spec_.ttl));
    for (const Locked& one : locks_) deadline = earlier(deadline, one.deadline);
    return Granted{{std::move(held)}, deadline, lease_};
  }
  // An attempt whose answer was lost may have set something aside.
  if (unknown_ || (taken ? !taken->repeated : is_unknown(taken.error())))
    give_back(behind_the_wait(kLateGiveBackBudget));
  unlock();
  if (control.stop_requested()) return std::nullopt;
  if (taken) return Refused{repeated(request_, *taken), std::nullopt};
  const CallLimit soon{behind_the_wait(kGiveBackBudget), &control};
  return Refused{with_nearest_stock(taken.error(), *stock_, request_.stock, soon), std::nullopt};
}

/// Without locks the answer to the same request says what an attempt before it has set aside. With locks that may be of
/// a segment whose lock is not ours any more, so it is given back first.
Result<StockAnswer> StockHold::attempt(Control& control, int start, const CallLimit& limit) {
  const bool locks = spec_.stock->lock_segment;
  locked_out_ = false;
  if (locks && unknown_) {
    if (const auto undone = stock_->cancel(request_, spec_.owner, limit); !undone && is_unknown(undone.error())) {
      return undone.error();
    }
    unknown_ = false;
  }
  auto answer = locks ? reserve_locked(control, start, limit) : reserve(request_, start, limit);
  if (!answer) unknown_ = unknown_ || is_unknown(answer.error());
  else if (!locks) unknown_ = false;
  return answer;
}

Result<StockAnswer> StockHold::reserve(const StockRequest& request, int start, const CallLimit& limit) {
  sent_ = runtime_.clock.now();
  return stock_->reserve(request, spec_.owner, spec_.ttl, start, limit);
}

Result<StockAnswer> StockHold::reserve_locked(Control& control, int start, const CallLimit& limit) {
  unlock();
  TRY_ASSIGN(const auto state, stock_->show(request_.stock, limit));
  const std::vector<int> fit = lock_order(state, start, request_.quantity);
  if (fit.empty() && state.total() >= request_.quantity) return reserve_several(control, state, limit);
  if (fit.empty()) return StockAnswer(StockShort{state.total(), state.reserved()});
  int tries = 0;
  for (const int segment : fit) {
    // A segment with a reservation is likely to be locked: only those that look free are worth a try.
    if (state.segments[static_cast<std::size_t>(segment)].reserved > 0) break;
    if (!patience_.is_once() && tries++ == kFreeTries) break;
    auto answer = reserve_in(control, segment, std::nullopt, limit);
    if (!answer || !std::holds_alternative<StockShort>(*answer)) return answer;
    if (control.stop_requested()) break;
  }
  // One of them by chance, like everybody else who waits: so the queues are equally long.
  return reserve_in_queue(control, fit[static_cast<std::size_t>(start) % fit.size()], limit);
}

Result<StockAnswer> StockHold::reserve_in_queue(Control& control, int segment, const CallLimit& limit) {
  const TimePoint until = *earlier(runtime_.clock.now() + lock_pass_, patience_.until());
  lock_pass_ = std::min(2 * lock_pass_, kLongestLockPass);
  auto answer = reserve_in(control, segment, patience_.is_once() ? std::nullopt : std::optional(until), limit);
  if (!answer || !std::holds_alternative<StockShort>(*answer)) return answer;
  return locked_out();
}

/// Short: it is locked by another until then, or has too little.
Result<StockAnswer> StockHold::reserve_in(Control& control, int segment, std::optional<TimePoint> until,
                                          const CallLimit& limit) {
  TRY_ASSIGN(auto held, lock(control, segment, until));
  if (!held) return StockAnswer(StockShort{});
  return reserve_under(segment, limit);
}

Result<StockAnswer> StockHold::reserve_under(int segment, const CallLimit& limit) {
  StockRequest here = request_;
  here.only_segment = segment;
  auto answer = reserve(here, segment, limit);
  if (is_elsewhere(answer, segment) || is_unlocked(answer)) return StockAnswer(StockInProgress{});
  if (!answer || !std::holds_alternative<StockTaken>(*answer)) unlock();
  return answer;
}

/// A request that was given up, and came through after its cancellation, has set aside what another segment had: the
/// lock that we have is not of that one. Both are let go.
bool StockHold::is_elsewhere(const Result<StockAnswer>& answer, int segment) {
  const auto* taken = answer ? std::get_if<StockTaken>(&*answer) : nullptr;
  if (taken == nullptr || taken->repeated) return false;
  const bool here = taken->parts.size() == 1 && taken->parts.front().segment == segment;
  if (here) return false;
  unlock();
  return unknown_ = true;
}

/// The lock of the reservation is not ours any more (its connection has ended).
bool StockHold::is_unlocked(const Result<StockAnswer>& answer) {
  if (!answer || !std::holds_alternative<StockTaken>(*answer)) return false;
  const TimePoint now = runtime_.clock.now();
  for (const Locked& one : locks_) {
    if (!std::holds_alternative<RenewalLost>(one.lock->held(now))) continue;
    unlock();
    return unknown_ = true;
  }
  return false;
}

StockAnswer StockHold::locked_out() {
  locked_out_ = true;
  return StockInProgress{};
}

Result<StockAnswer> StockHold::reserve_several(Control& control, const StockState& state, const CallLimit& limit) {
  const int count = static_cast<int>(state.segments.size());
  for (int segment = 0; segment < count && !control.stop_requested(); ++segment) {
    const auto held = lock_next(control, segment, limit);
    if (held && *held) continue;
    unlock();
    return held ? Result<StockAnswer>(locked_out()) : held.error();
  }
  if (!keep_locks(control, limit)) {
    unlock();
    return locked_out();
  }
  auto answer = reserve(request_, 0, limit);
  if (is_unlocked(answer)) return StockAnswer(StockInProgress{});
  if (!answer || !std::holds_alternative<StockTaken>(*answer)) unlock();
  return answer;
}

/// One more, while those that are held are renewed.
Result<bool> StockHold::lock_next(Control& control, int segment, const CallLimit& limit) {
  while (keep_locks(control, limit)) {
    const auto until = patience_.is_once() ? std::nullopt : earlier(limit.until, renewal_due());
    auto held = lock(control, segment, until);
    if (!held || *held) return held;
    if (!until || control.stop_requested() || runtime_.clock.now() >= limit.until) break;
  }
  return false;
}

void StockHold::took(std::unique_ptr<LockDriver> lock, const Granted& granted) {
  if (granted.lease > Duration(0)) lease_ = lease_ > Duration(0) ? std::min(lease_, granted.lease) : granted.lease;
  locks_.push_back({std::move(lock), granted.deadline});
}

/// When a third of the lease of one of them is gone.
std::optional<TimePoint> StockHold::renewal_due() const {
  const Duration lease = lease_ > Duration(0) ? lease_ : spec_.ttl;
  std::optional<TimePoint> due;
  for (const Locked& one : locks_) due = earlier(due, one.deadline);
  return due ? std::optional(*due - lease * 2 / 3) : std::nullopt;
}

/// Renews the locks that are held, if that is due. False: they are not held safely any more.
bool StockHold::keep_locks(Control& control, const CallLimit& limit) {
  const TimePoint now = runtime_.clock.now();
  const auto due = renewal_due();
  const bool renews = due && now >= *due;
  for (Locked& one : locks_) {
    const auto answer = renews ? one.lock->renew(control, *earlier(limit.until, one.deadline)) : one.lock->held(now);
    if (std::holds_alternative<RenewalLost>(answer) || std::holds_alternative<RenewalUnknown>(answer)) return false;
    if (const auto* renewed = std::get_if<RenewalRenewed>(&answer)) one.deadline = renewed->deadline;
  }
  const auto next = renews ? renewal_due() : std::nullopt;
  return !next || runtime_.clock.now() < *next;
}

Result<bool> StockHold::lock(Control& control, int segment, std::optional<TimePoint> until) {
  TRY_ASSIGN(auto name, segment_key(request_.stock, segment));
  LockSpec spec = spec_;
  spec.name = std::move(name);
  spec.stock.reset();
  spec.one_of_many = true;
  spec.ancestor.reset();
  spec.wait = {.once = !until, .until = until, .connect_timeout = patience_.connect_timeout()};
  TRY_ASSIGN(auto opened, open_lock_(spec));
  auto answer = opened->acquire(control);
  if (!answer) return false;
  if (auto* refused = std::get_if<Refused>(&*answer)) {
    if (refused->error.code != ErrorCode::kBusy) return std::move(refused->error);
    return false;
  }
  took(std::move(opened), std::get<Granted>(*answer));
  return true;
}

TimePoint StockHold::behind_the_wait(Duration budget) const {
  return patience_.withdraw_end(runtime_.clock.now(), budget);
}

void StockHold::unlock() { unlock(behind_the_wait(kGiveBackBudget)); }

void StockHold::unlock(TimePoint until) {
  for (Locked& one : locks_) (void)one.lock->release(until);
  locks_.clear();
  lease_ = Duration(0);
}

Renewal StockHold::renew(Control& control, TimePoint until) {
  const TimePoint sent = runtime_.clock.now();
  const auto extended = stock_->extend(request_, spec_.owner, spec_.ttl, {until, &control});
  if (!extended && extended.error().code == ErrorCode::kLost) return RenewalLost{extended.error().message};
  if (!extended) return RenewalUnknown{extended.error().message};
  sent_ = sent;
  Renewal answer = RenewalRenewed{lease_deadline(sent, spec_.ttl)};
  for (Locked& one : locks_) answer = both(std::move(answer), one.lock->renew(control, until));
  return answer;
}

void StockHold::add_interest(std::vector<pollfd>& fds) const {
  for (const Locked& one : locks_) one.lock->add_interest(fds);
}

std::optional<TimePoint> StockHold::wake_at() const {
  std::optional<TimePoint> at;
  for (const Locked& one : locks_) at = earlier(at, one.lock->wake_at());
  return at;
}

/// A lock's longer lease says nothing about the reservation: only bad news counts.
Renewal StockHold::held(TimePoint now) {
  for (Locked& one : locks_) {
    auto answer = one.lock->held(now);
    if (std::holds_alternative<RenewalLost>(answer) || std::holds_alternative<RenewalDue>(answer)) return answer;
  }
  return RenewalHeld{};
}

Result<void> StockHold::release(TimePoint until) {
  const auto end = [&](const CallLimit& limit) {
    if (sold_) return stock_->confirm(request_, spec_.owner, limit);
    auto cancelled = stock_->cancel(request_, spec_.owner, limit);
    // Sold by another command since the reservation was over: nothing of ours is set aside.
    return !cancelled && cancelled.error().code == ErrorCode::kConflict ? Result<void>() : cancelled;
  };
  auto ended = insist(end, until, runtime_.clock, nullptr);
  unlock(until);
  return ended;
}

Result<void> StockHold::leave(const LeaveSpec& /*spec*/, TimePoint until) { return release(until); }

void StockHold::give_back(TimePoint until) {
  (void)insist([&](const CallLimit& limit) { return stock_->cancel(request_, spec_.owner, limit); }, until,
               runtime_.clock, nullptr);
}

}  // namespace dlock
