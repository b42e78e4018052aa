// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/lock.h"

#include <algorithm>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/lease/admin.h"
#include "lib/base/random.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWithdrawBudget = 1s;  ///< to take back what may have been created
constexpr Duration kFirstPause = 10ms;    ///< of who looks by itself
constexpr Duration kLongestPause = 200ms;
constexpr Duration kCollisionPause = 1ms;
constexpr Duration kQuickPause = 5ms;
constexpr int kQuickAttempts = 20;  ///< after a gate that is being passed, when we may not wait
constexpr Duration kLookBudget = 1s;
constexpr Duration kQueueBeat = 1s;  ///< between two signs of life in the poll queue
constexpr Duration kQueueAlive = 3s;

/// A holder that is not heard of for its ttl loses the gate; so does a first waiter that was stopped.
std::vector<DatabaseSettings> for_lease(std::vector<DatabaseSettings> servers, Duration ttl) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(ttl).count() + 1;
  for (DatabaseSettings& server : servers) {
    server.batches = true;
    server.idle_seconds = static_cast<int>(std::clamp<std::int64_t>(seconds, 2, 28800));
  }
  return servers;
}

}  // namespace

LeaseLock::LeaseLock(Settings settings, const Dial& dial, const LockSpec& spec, const Runtime& runtime)
    : runtime_(runtime),
      spec_(spec),
      store_name_(settings.store),
      servers_(for_lease(std::move(settings.servers), spec.ttl), dial, runtime.clock),
      store_(servers_, Strategy::kLease, spec.name),
      who_(who_text(spec)),
      acquisition_(spec_, runtime_, *this),
      holder_(spec.owner.text()) {}

LeaseAsk LeaseLock::make_ask(std::uint64_t connection) const {
  return {.owner = spec_.owner,
          .mode = spec_.mode,
          .permits = spec_.mode == Mode::kPermits ? spec_.permits : 0,
          .ttl = spec_.ttl,
          .lock_delay = spec_.lock_delay,
          .who = who_,
          .connection = connection,
          .slots = spec_.slots};
}

std::optional<std::variant<Granted, Refused>> LeaseLock::acquire(Control& control) {
  control_ = &control;
  return acquisition_.run(control);
}

/// For one request: what was answered before it is kept.
TimePoint LeaseLock::asked_by() const { return acquisition_.patience().attempt_end(runtime_.clock.now()); }

Acquirer::Attempt LeaseLock::attempt(TimePoint until, Control& control) {
  while (true) {
    auto step = read_and_decide(control);
    if (auto* grant = std::get_if<Granted>(&step)) return std::move(*grant);
    if (auto* error = std::get_if<Error>(&step)) return Failed{std::move(*error)};
    if (control.stop_requested()) return Busy{};
    if (std::holds_alternative<Again>(step) && runtime_.clock.now() < until) continue;
    if (!passes_soon()) break;
    acquisition_.pause(runtime_.clock.now() + kQuickPause + jitter(kQuickPause), control);
  }
  acquisition_.trace("already held on " + servers_.server() + ", queued there");
  return Busy{};
}

/// Only the gate keeps us out, and with one attempt we may not wait for it.
bool LeaseLock::passes_soon() { return acquisition_.patience().is_once() && admits_ && ++quick_ < kQuickAttempts; }

/// The row as it is now. A free one is taken in the same statement, unless the lock is only looked at.
Result<LeaseReading> LeaseLock::read(Control& control) {
  if (auto reading = std::exchange(came_with_gate_, std::nullopt)) return std::move(*reading);
  const TimePoint until = asked_by();
  if (!spec_.take) return store_.read(false, until, &control);
  if (const auto connected = servers_.connect(until, &control); !connected) return connected.error();
  auto reading = store_.take(make_ask(connection_), true, until, &control);
  unknown_take_ = unknown_take_ || (!reading && store_.unanswered());
  return reading;
}

LeaseLock::Step LeaseLock::read_and_decide(Control& control) {
  auto reading = read(control);
  if (!reading) return reading.error();
  acquisition_.patience().heard();
  row_ = reading->row;
  read_at_ = reading->now;
  connection_ = reading->connection;
  generation_ = servers_.generation();
  if (since_ == 0) since_ = reading->now;
  return decide(std::move(*reading), control);
}

LeaseLock::Step LeaseLock::decide(LeaseReading reading, Control& control) {
  admits_ = false;
  if (!spec_.take && is_free(reading.row, reading.now)) {
    servers_.close();  // and with it the gate
    return Granted{};
  }
  LeaseDecision decision = try_take(reading.row, make_ask(reading.connection), reading.now);
  if (const auto* busy = std::get_if<LeaseBusy>(&decision)) {
    remaining_ = busy->remaining;
    return Busy{};
  }
  if (const auto* other = std::get_if<LeaseDisagreement>(&decision)) {
    return held_otherwise(spec_.name, other->held);
  }
  auto& take = std::get<LeaseTake>(decision);
  if (!spec_.take) return Busy{};
  if (const LeaseHolder* ours = take.already ? find_holder(reading.row, take.owner) : nullptr) {
    const Duration left = std::chrono::microseconds(ours->until - reading.now);
    if (ours->connection == reading.connection && left >= spec_.ttl / 2) {
      take.next = reading.row;
      return granted(take, reading.sent, std::min(left, spec_.ttl));
    }
  }
  const bool may = take.already || reading.gate == true || store_.has_gate();
  if (may) return write(reading, std::move(take), control);
  admits_ = true;  // the owner of the gate is about to take it, or died a moment ago
  remaining_ = 0;
  return Busy{};
}

LeaseLock::Step LeaseLock::write(const LeaseReading& reading, LeaseTake take, Control& control) {
  const auto written = store_.change(reading.row, take.next, asked_by(), &control);
  if (!written) {
    unknown_ = unknown_ || store_.unanswered();
    return written.error();
  }
  if (*written == Written::kYes) return granted(take, reading.sent, spec_.ttl);
  remaining_ = 0;  // the row moves: look again soon
  acquisition_.pause(runtime_.clock.now() + collision_pause(), control);
  return Again{};
}

/// Before the row is read again that another was faster to change: where a hundred change it at the same time,
/// most of what they send would be in vain.
Duration LeaseLock::collision_pause() {
  return jitter(std::min(kLongestPause, kCollisionPause * (1 << std::min(collisions_++, 8))));
}

/// With so much `left` when the request was sent that returned it.
Granted LeaseLock::granted(const LeaseTake& take, TimePoint sent, Duration left) {
  row_ = take.next;
  unknown_ = unknown_take_ = false;
  collisions_ = 0;
  written_ = true;
  leased_at_ = sent - (spec_.ttl - left);
  (void)store_.withdraw(spec_.owner.text(), runtime_.clock.now() + kLookBudget);
  if (spec_.mode != Mode::kExclusive && store_.has_gate()) {
    (void)store_.release_gate(runtime_.clock.now() + kLookBudget, nullptr);
  }
  HeldLock lock{spec_.name, spec_.owner, FencingToken(take.token), store_name_};
  lock.slot = take.slot;
  return {{std::move(lock)}, lease_deadline(sent, left)};
}

bool LeaseLock::wait(std::optional<TimePoint> until, Control& control) {
  if (!acquisition_.patience().queues()) {
    if (store_.has_gate()) (void)store_.release_gate(runtime_.clock.now() + kLookBudget, &control);
    acquisition_.pause(until, control);
  } else if (!store_.has_gate() && !store_.without_gates()) {
    wait_at_gate(until, control);
  } else {
    sleep_on_server(until, control);
  }
  return !acquisition_.patience().is_over(runtime_.clock.now());
}

/// In the server's queue. The next one takes the row without coming back in between.
void LeaseLock::wait_at_gate(std::optional<TimePoint> until, Control& control) {
  const int seconds = wait_seconds(until, runtime_.clock.now());
  const std::string take = spec_.take ? store_.take_statement(make_ask(connection_)) : "";
  const Waited waited = wait_in(store_.wait_statement(note(), seconds), take, until, control);
  if (!waited.outcome) return;
  pause_ = Duration(0);
  const auto* answer = std::get_if<Answer>(&*waited.outcome);
  if (answer && answer->went_on) {
    store_.gate_taken();
    came_with_gate_ = LeaseStore::taken(*answer, make_ask(connection_), *answer->went_on);
  } else if (answer && !answer->rows.empty() && !answer->rows[0].empty() && answer->rows[0][0] == "1") {
    store_.gate_taken();
  } else if (const auto* failure = std::get_if<Failure>(&*waited.outcome)) {
    if (waited.went_on) servers_.close();  // whether it has the gate is not worth knowing
    if (is_without_named_locks(failure->code)) store_.gates_refused();
    else acquisition_.pause(earlier(runtime_.clock.now() + jitter(kAskAgainPause), until), control);
  }
}

/// Our place in the poll queue. Where it cannot be written we poll without one.
void LeaseLock::stand_in_queue(Control& control) {
  const TimePoint now = runtime_.clock.now();
  if (!spec_.take || !store_.without_gates() || now < next_beat_) return;
  next_beat_ = now + kQueueBeat;
  (void)store_.queue(note(), kQueueAlive, now + kLookBudget, &control);
}

/// A pause in which the others see that we wait.
void LeaseLock::sleep_on_server(std::optional<TimePoint> until, Control& control) {
  stand_in_queue(control);
  pause_ = std::clamp<Duration>(pause_ * 2, kFirstPause, kLongestPause);
  Duration pause = pause_ / 2 + jitter(pause_ / 2);
  if (remaining_ > 0) pause = std::min<Duration>(pause, std::chrono::microseconds(remaining_) + 1ms + jitter(8ms));
  const TimePoint now = runtime_.clock.now();
  if (until) pause = std::clamp<Duration>(*until - now, 0s, pause);
  const auto micros =
      std::to_string(1'000'000 + std::chrono::ceil<std::chrono::microseconds>(pause).count() % 1'000'000);
  const std::string statement =
      waiting_comment(Strategy::kLease, spec_.name, note()) + "SLEEP(0." + micros.substr(1) + ")";
  const Waited waited = wait_in(statement, {}, now + pause + kLookBudget, control);
  const bool slept = waited.outcome && std::holds_alternative<Answer>(*waited.outcome);
  if (!slept) acquisition_.pause(now + pause, control);
}

Waited LeaseLock::wait_in(std::string statement, std::string next, std::optional<TimePoint> until, Control& control) {
  Database* database = servers_.current();
  if (database == nullptr || !database->usable()) return {Failure{0, "not connected", true, false}};
  database->begin(std::move(statement), std::move(next));
  waiting_ = true;
  Waited waited = wait_on_server(acquisition_, servers_, runtime_.clock, connection_, until, control);
  waiting_ = false;
  const bool answered = waited.outcome && std::holds_alternative<Answer>(*waited.outcome);
  unknown_take_ = unknown_take_ || (waited.went_on && !answered);
  return waited;
}

WaitingNote LeaseLock::note() const { return {spec_.owner.text(), spec_.mode, since_, who_, spec_.take}; }

/// The holders of the lock now; those of the last look if the server cannot be asked. While our connection waits in the
/// server's queue, the question goes through another one.
Result<LockState> LeaseLock::describe(Control& control) {
  if (waiting_) {
    const Runtime quick{runtime_.clock, runtime_.log, kLookBudget};
    return LeaseAdmin({.servers = {}, .row = {}, .store = store_name_}, servers_.beside(), quick).inspect(spec_.name);
  }
  const TimePoint until = runtime_.clock.now() + kLookBudget;
  LockState state = state_of(row_, spec_.name, store_name_, read_at_);
  ServerTime theirs = read_at_;
  const WallTime asked = runtime_.clock.wall();
  const bool stale = !acquisition_.patience().is_once();
  if (const auto reading = stale ? store_.read(false, until, &control) : Error{ErrorCode::kInternal, ""}) {
    state = state_of(reading->row, spec_.name, store_name_, reading->now);
    theirs = reading->now;
  }
  const WallTime answered = runtime_.clock.wall();
  if (Database* database = servers_.current(); database != nullptr && database->usable()) {
    if (auto waiters = waiters_of(servers_, Strategy::kLease, spec_.name, until, &control))
      list_waiters(state, std::move(*waiters));
  }
  move_to_our_clock(state, wall_time(theirs), asked, answered);
  return state;
}

/// Out of the queue; and what was taken, or may have been by an unanswered request, is given back.
void LeaseLock::withdraw() {
  unknown_take_ = unknown_take_ || came_with_gate_;  // it may have been our turn in the moment in which the wait ended
  if (unknown_ || unknown_take_ || written_) (void)release_row(runtime_.clock.now() + kWithdrawBudget);
  (void)store_.withdraw(spec_.owner.text(), runtime_.clock.now() + kWithdrawBudget);
  servers_.close();
}

}  // namespace dlock::mysql
