// SPDX-License-Identifier: Apache-2.0
#include "lib/row_lock/row_lock.h"

#include <algorithm>
#include <utility>

#include "lib/base/random.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBudget = 1s;  ///< of a look, and to take back what may have been created
constexpr Duration kRetryAfter = 10ms;
constexpr Duration kListenAfter = 100ms;  ///< of a grant: who holds for less need not hear anything
constexpr Duration kBeat = 2s;            ///< between two signs of life in the queue
constexpr Duration kAlive = 6s;
constexpr Duration kFirstPause = 10ms;  ///< of who looks by itself
constexpr Duration kLongestPause = 200ms;
constexpr Duration kQuickPause = 5ms;
constexpr int kQuickAttempts = 20;  ///< after a head that is being passed, when we may not wait

}  // namespace

RowLock::RowLock(std::unique_ptr<Rows> rows, const LockSpec& spec, const Runtime& runtime)
    : runtime_(runtime),
      spec_(spec),
      rows_(std::move(rows)),
      store_(*rows_, spec_.name, runtime.clock),
      ask_(ask_of(spec_)),
      owner_(spec.owner.text()),
      text_(encode_record(first_record(ask_))),
      acquisition_(spec_, runtime_, *this) {}

std::optional<std::variant<Granted, Refused>> RowLock::acquire(Control& control) {
  control_ = &control;
  return acquisition_.run(control);
}

/// For one request: what was answered before it is kept.
CallLimit RowLock::limit(Control& control) const {
  return {acquisition_.patience().attempt_end(runtime_.clock.now()), &control};
}

/// nullptr: the store has none, or its servers have none.
RowQueue* RowLock::queue() const {
  RowQueue* queue = rows_->queue();
  return queue && !queue->is_missing() ? queue : nullptr;
}

Acquirer::Attempt RowLock::attempt(TimePoint until, Control& control) {
  for (int races = 0;; ++races) {
    auto step = take_or_queue(races == 0, control);
    if (auto* grant = std::get_if<Granted>(&step)) return std::move(*grant);
    if (auto* failure = std::get_if<Error>(&step)) return std::move(*failure);
    if (control.stop_requested() || runtime_.clock.now() >= until) return Busy{};
    if (std::holds_alternative<Again>(step)) {
      acquisition_.pause(runtime_.clock.now() + race_rest(races), control);
    } else if (passes_soon()) {
      acquisition_.pause(runtime_.clock.now() + kQuickPause + jitter(kQuickPause), control);
    } else {
      return Busy{};
    }
  }
}

/// Only the head of the queue keeps us out, and with one attempt we may not wait for it.
bool RowLock::passes_soon() { return acquisition_.patience().is_once() && admits_ && ++quick_ < kQuickAttempts; }

/// The record now. In a store with a queue, at its head if nobody else is there, and taken if that is possible.
Result<RecordReading> RowLock::look(bool fills, Control& control) {
  if (came_with_turn_) return *std::exchange(came_with_turn_, std::nullopt);
  RowQueue* queue = spec_.take ? this->queue() : nullptr;
  if (!queue) return store_.read(limit(control));
  const TimePoint sent = runtime_.clock.now();
  const CallLimit end = limit(control);
  const auto look = fills ? queue->fill(spec_.name, kLockRow, text_, end) : queue->look(spec_.name, kLockRow, end);
  if (!look) {
    if (fills) (void)failed(look.error(), unknown_take_);
    return look.error();
  }
  return store_.understood(look->rows.front(), look->now_us, sent);
}

/// A free lock is taken without a look, unless it is known that it is none.
RowLock::Step RowLock::take_or_queue(bool first, Control& control) {
  const bool fills = spec_.take && first && !queued_;
  if (fills && !queue()) {
    const auto taken = store_.take_free(ask_, limit(control));
    if (!taken) return failed(taken.error(), unknown_take_);
    if (*taken) return granted(**taken, spec_.ttl);
  }
  const auto reading = look(fills, control);
  if (!reading) return reading.error();
  acquisition_.patience().heard();
  if (since_ == 0) since_ = reading->now;
  seen_ = *reading;
  return decide(*reading, control);
}

Error RowLock::failed(const Error& error, bool& unknown) const {
  unknown = unknown || (error.code == ErrorCode::kUnavailable && !error.undone);
  return error;
}

RowLock::Step RowLock::decide(const RecordReading& reading, Control& control) {
  if (!spec_.take && is_free(reading.record, reading.now)) {
    rows_->close();  // and with it the head of the queue
    return Granted{};
  }
  LeaseDecision decision = try_take(reading.record, ask_, reading.now);
  if (const auto* other = std::get_if<LeaseDisagreement>(&decision)) return held_otherwise(spec_.name, other->held);
  admits_ = false;
  const auto* busy = std::get_if<LeaseBusy>(&decision);
  remaining_ = busy ? std::optional<Duration>(std::chrono::microseconds(busy->remaining)) : std::nullopt;
  place_ = busy ? busy->place : 0;
  if (!spec_.take) return Busy{};
  if (busy) return stand_in_queue(reading, control);
  auto& take = std::get<LeaseTake>(decision);
  const Duration left = std::chrono::microseconds(take.before - reading.now);
  if (take.before > 0 && left >= spec_.ttl / 2) return granted(reading, std::min(left, spec_.ttl));
  if (queue() && take.before == 0 && !queue()->at_head()) {  // who is there is about to take it, or died a moment ago
    admits_ = true;
    return Busy{};
  }
  const auto written = store_.write(reading, {.record = std::move(take.next), .before = take.before}, limit(control));
  if (!written) return failed(written.error(), unknown_take_);
  return *written ? Step(granted(**written, spec_.ttl)) : Again{};
}

/// Listens first, so that nothing is told in vain. A place is worth having where attempts are not counted.
RowLock::Step RowLock::stand_in_queue(const RecordReading& reading, Control& control) {
  queued_ = is_queued(reading.record, owner_);
  if (!acquisition_.patience().queues() || (queue() && !queue()->at_head())) return Busy{};
  const bool stands = queued_ && runtime_.clock.now() < next_beat_;
  if (stands && listens_ && !reading.record.ahead) return Busy{};
  if (!listens_) {
    const auto listens = queue() ? Result<bool>(false) : rows_->listen(spec_.name, owner_, limit(control));
    if (!listens) return listens.error();
    listens_ = *listens;
  }
  const auto written =
      store_.write(reading, {.record = with_waiter(reading.record, ask_, kAlive, reading.now)}, limit(control));
  if (!written) return failed(written.error(), unknown_);
  if (!*written) return Again{};
  seen_ = **written;
  queued_ = true;
  next_beat_ = runtime_.clock.now() + kBeat;
  tell_queued();
  return Busy{};
}

void RowLock::tell_queued() { acquisition_.trace("already held on " + rows_->server() + ", queued there"); }

/// With so much `left` of the lease when it was asked for.
Granted RowLock::granted(const RecordReading& held, Duration left) {
  seen_ = held;
  unknown_ = unknown_take_ = queued_ = false;
  held_ = true;
  leased_at_ = held.sent - (spec_.ttl - left);
  listen_at_ = runtime_.clock.now() + kListenAfter;
  const LeaseHolder* ours = find_holder(held.record, owner_);
  HeldLock lock{spec_.name, spec_.owner, FencingToken(ours->token), rows_->store()};
  lock.slot = slot_of(ours->who);
  if (queue() && spec_.mode != Mode::kExclusive) queue()->leave(spec_.name, {runtime_.clock.now() + kBudget});
  return {{std::move(lock)}, lease_deadline(held.sent, left)};
}

/// Of who is not told anything: who is first, or takes nothing, looks often, the others more seldom.
Duration RowLock::look_pause() {
  pause_ = std::clamp<Duration>(pause_ * 2, kFirstPause, kLongestPause);
  const Duration pause = pause_ * static_cast<int>(1 + (spec_.take ? std::min<std::size_t>(place_, 9) : 0));
  return pause / 2 + jitter(pause / 2);
}

/// In the store's own. The next one takes the lock without coming back in between.
void RowLock::wait_in_queue(std::optional<TimePoint> until, Control& control) {
  const WaitingNote note{owner_, spec_.mode, since_, ask_.who, spec_.take};
  waits_in_queue_ = true;
  auto turn = queue()->wait(spec_.name, kLockRow, text_, note, until, acquisition_, control);
  waits_in_queue_ = false;
  unknown_take_ = unknown_take_ || turn.unknown;
  if (!turn.filled) return;
  auto reading = store_.understood(turn.filled->rows.front(), turn.filled->now_us, turn.sent);
  if (reading) came_with_turn_ = std::move(*reading);
}

bool RowLock::wait(std::optional<TimePoint> until, Control& control) {
  if (!acquisition_.patience().queues()) {
    if (queue()) queue()->leave(spec_.name, {runtime_.clock.now() + kBudget, &control});
    acquisition_.pause(until, control);
    return true;
  }
  if (queue() && !queue()->at_head()) {
    tell_queued();
    wait_in_queue(until, control);
    return !acquisition_.patience().is_over(runtime_.clock.now());
  }
  const TimePoint now = runtime_.clock.now();
  TimePoint next = listens_.value_or(false) ? next_beat_ : now + look_pause();
  if (remaining_ && *remaining_ > Duration(0)) next = std::min(next, now + *remaining_ + 1ms + jitter(8ms));
  const auto sleep = [&](std::optional<TimePoint> end) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    rows_->add_interest(fds);
    runtime_.clock.wait(fds, end);
  };
  const auto is_told = [this] {
    const bool told = rows_->heard();
    if (told) listens_.reset();  // it may have been the end of the connection
    return told;
  };
  acquisition_.wait_on({is_told, sleep}, earlier(until, next), control);
  return !acquisition_.patience().is_over(runtime_.clock.now());
}

/// The holders and waiters now; those of the last look if that was a moment ago.
Result<LockState> RowLock::describe(Control& control) {
  const WallTime asked = runtime_.clock.wall();
  const CallLimit soon{runtime_.clock.now() + kBudget, &control};
  Rows& rows = waits_in_queue_ ? queue()->beside() : *rows_;
  if (!acquisition_.patience().is_once() || !seen_) {
    TRY_ASSIGN(seen_, RecordStore(rows, spec_.name, runtime_.clock).read(soon));
  }
  LockState state = state_of(seen_->record, spec_.name, rows_->store(), seen_->now);
  (void)RecordStore(rows, spec_.name, runtime_.clock).add_queue(state, soon);
  move_to_our_clock(state, wall_time(seen_->now), asked, runtime_.clock.wall());
  return state;
}

/// Out of the queue; and what was taken, or may have been by an unanswered request, is given back.
void RowLock::withdraw() {
  unknown_take_ =
      unknown_take_ || came_with_turn_.has_value();  // it was our turn in the moment in which the wait ended
  if (queued_ || unknown_ || unknown_take_ || held_) {
    (void)give_back(acquisition_.patience().withdraw_end(runtime_.clock.now(), kBudget));
  }
  rows_->close();
}

/// The record as we know it has no other holder.
bool RowLock::is_alone() const {
  const bool at_head = spec_.mode != Mode::kExclusive || !queue() || queue()->at_head();
  return at_head && seen_ && !unknown_ && !unknown_take_ && seen_->record.holders.size() == 1 &&
         seen_->record.holders.front().owner == owner_;
}

/// A holder that has lost its connection goes back to the head of the store's queue, if nobody is there.
Result<RecordReading> RowLock::look_again(const CallLimit& limit) {
  RowQueue* queue = this->queue();
  if (!queue || queue->at_head()) return store_.read(limit);
  const TimePoint sent = runtime_.clock.now();
  TRY_ASSIGN(const auto look, queue->look(spec_.name, kLockRow, limit));
  return store_.understood(look.rows.front(), look.now_us, sent);
}

Renewal RowLock::renewed(const RecordReading& written) {
  seen_ = written;
  unknown_ = false;
  leased_at_ = written.sent;
  // What was told came with an answer, or the connection that heard it is another one now.
  if (!listen_at_ && rows_->heard()) listen_at_ = runtime_.clock.now();
  const LeaseHolder* ours = find_holder(written.record, owner_);
  return RenewalRenewed{lease_deadline(written.sent, spec_.ttl), ours ? revocation_of(ours->who) : std::string()};
}

Renewal RowLock::renew(Control& control, TimePoint until) {
  if (!spec_.take) return RenewalHeld{};
  const CallLimit limit{until, &control};
  if (is_alone()) {
    const auto next = extend(seen_->record, owner_, spec_.ttl, true, seen_->now);
    const StoreTime before = seen_->record.holders.front().until;
    const auto written = store_.write(*seen_, {.record = next.value_or(seen_->record), .before = before}, limit);
    if (written && *written) return renewed(**written);
    if (!written) (void)failed(written.error(), unknown_);
  }
  const auto answer = insist(
      runtime_.clock, until, kRetryAfter, [&] { return renew_what_is_read(limit); }, &control);
  return answer.answer ? *answer.answer : RenewalUnknown{answer.answer.error().message};
}

Result<Renewal> RowLock::renew_what_is_read(const CallLimit& limit) {
  for (int races = 0;; ++races) {
    TRY_ASSIGN(seen_, spec_.mode == Mode::kExclusive ? look_again(limit) : store_.read(limit));
    auto next = extend(seen_->record, owner_, spec_.ttl, false, seen_->now);
    if (!next) {
      return Renewal(RenewalLost{why_lost(*seen_)});
    }
    const StoreTime before = find_holder(seen_->record, owner_)->until;
    const auto written = store_.write(*seen_, {.record = std::move(*next), .before = before}, limit);
    if (!written) return failed(written.error(), unknown_);
    if (*written) return renewed(**written);
    if (!rest(runtime_.clock, std::min(limit.until, runtime_.clock.now() + race_rest(races)), limit.control) ||
        runtime_.clock.now() >= limit.until)
      return Error{ErrorCode::kUnavailable, "others change " + spec_.name.text() + " all the time"};
  }
}

/// Our hold is not in the record that was read.
std::string RowLock::why_lost(const RecordReading& reading) const {
  if (find_holder(reading.record, owner_)) return "its lease ended by the clock of " + rows_->store();
  return is_free(reading.record, reading.now) ? rows_->store() + " no longer has this lock (it expired, or was deleted)"
                                              : "it has another holder on " + rows_->store();
}

/// Whoever asks for the lock back, or frees it, tells its holder, which the record then tells more.
Renewal RowLock::held(TimePoint now) {
  const TimePoint end = now + std::min<Duration>(kBudget, spec_.ttl / 6);
  if (rows_->heard()) {
    listen_at_ = now;
    return renew(*control_, end);
  }
  if (!listen_at_ || now < *listen_at_) return RenewalHeld{};
  const CallLimit soon{now + kBudget, control_};
  const auto listens = rows_->listen(spec_.name, owner_, soon);
  listen_at_ = listens ? std::nullopt : std::optional(runtime_.clock.now() + kBudget);
  return listens && *listens && was_told(soon) ? renew(*control_, end) : Renewal(RenewalHeld{});
}

/// Before it began to listen, as the record shows.
bool RowLock::was_told(const CallLimit& limit) {
  const auto reading = store_.read(limit);
  const LeaseHolder* ours = reading ? find_holder(reading->record, owner_) : nullptr;
  return reading && (!ours || !revocation_of(ours->who).empty());
}

/// At the version that we know, and if that is not there any more, at the one that is.
Result<void> RowLock::give_back(TimePoint until) {
  bool unanswered = unknown_ || unknown_take_;
  const auto make = [&](const RecordReading& reading) -> std::optional<RecordStore::Next> {
    auto next = dlock::give_back(reading.record, owner_, reading.now);
    // A take of ours may still be on its way.
    if (!next && unknown_take_) next = given_up(reading.record, owner_);
    return next ? std::optional(RecordStore::Next{.record = std::move(*next), .leaves = true}) : std::nullopt;
  };
  auto known = unanswered ? std::optional<RecordReading>() : std::exchange(seen_, std::nullopt);
  const auto done = store_.rewrite(make, {until}, &unanswered, std::move(known));
  unknown_ = unanswered;
  if (!done) return done.error();
  unknown_take_ = held_ = queued_ = false;
  return *done || unanswered ? Result<void>() : not_held(spec_.name);
}

/// The end of the connection leaves the store's queue, if it was not left yet.
Result<void> RowLock::release(TimePoint until) {
  if (!spec_.take) return {};
  const auto released = give_back(until);
  if (!released || (queue() && queue()->at_head())) rows_->close();
  return released;
}

/// Nothing is asked about a lease that has just begun: nothing can go wrong with it any more.
Result<void> RowLock::leave(const LeaveSpec& spec, TimePoint until) {
  const bool stays = spec.ran.empty() && spec.ttl == spec_.ttl;
  if (!spec_.take) return {};
  if (stays && has_just_begun(leased_at_, runtime_.clock.now(), spec.ttl)) {
    rows_->close();
    return {};
  }
  const auto make = [&](const RecordReading& reading) -> std::optional<RecordStore::Next> {
    auto next = extend(reading.record, owner_, spec.ttl, true, reading.now, spec.ran);
    if (!next) return std::nullopt;
    return RecordStore::Next{.record = std::move(*next), .before = find_holder(reading.record, owner_)->until};
  };
  seen_.reset();
  TRY_ASSIGN(const auto left, store_.rewrite(make, {until}, &unknown_));
  rows_->close();
  return left ? Result<void>() : not_held(spec_.name);
}

}  // namespace dlock
