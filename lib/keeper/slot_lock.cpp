// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/slot_lock.h"

#include <utility>

#include "lib/base/human_text.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"

namespace dlock {
namespace {

class SlotLock final : public LockDriver {
 public:
  SlotLock(std::unique_ptr<KeyMemory> memory, const LockSpec& spec, std::string ran, std::string store, Clock& clock)
      : memory_(std::move(memory)), spec_(spec), ran_(std::move(ran)), store_(std::move(store)), clock_(clock) {}

  std::optional<std::variant<Granted, Refused>> acquire(Control& /*control*/) override {
    if (spec_.take) return remember();
    auto ran = memory_->look_up(spec_.name, answer_by());
    if (!ran) return Refused{std::move(ran).error(), std::nullopt};
    if (!*ran) return Granted{};
    LockState state{.name = spec_.name, .store = store_, .holders = {std::move(**ran)}, .waiters = {}};
    return Refused{{ErrorCode::kBusy, spec_.name.spoken() + " has run"}, std::move(state)};
  }

  Renewal renew(Control& /*control*/, TimePoint /*until*/) override { return RenewalHeld{}; }
  Result<void> release(TimePoint /*until*/) override { return {}; }
  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint /*until*/) override { return {}; }

 private:
  TimePoint answer_by() const { return Patience(spec_.wait).attempt_end(clock_.now()); }

  std::variant<Granted, Refused> remember() {
    const auto done = memory_->remember(spec_.name, {spec_.owner, ran_, spec_.ttl}, answer_by());
    if (!done) return Refused{done.error(), std::nullopt};
    return Granted{{HeldLock{spec_.name, spec_.owner, FencingToken(), store_}}, std::nullopt};
  }

  const std::unique_ptr<KeyMemory> memory_;
  const LockSpec spec_;
  const std::string ran_;  ///< by whom, and how
  const std::string store_;
  Clock& clock_;
};

/// A lock that needs no time and no renewal.
class SlotSession final : public LockSession {
 public:
  explicit SlotSession(std::unique_ptr<LockDriver> lock) : lock_(std::move(lock)) {}

  void acquire(TimePoint /*now*/) override {
    NoControl control;
    auto answer = lock_->acquire(control);
    if (auto* granted = std::get_if<Granted>(&*answer)) event_ = std::move(*granted);
    else event_ = std::get<Refused>(std::move(*answer));
  }
  void withdraw(TimePoint /*deadline*/) override { event_ = Withdrawn{}; }
  void release(TimePoint /*deadline*/) override { event_ = Released{}; }
  void ask_who() override {}
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  std::optional<TimePoint> wake_at() const override { return event_ ? std::optional(TimePoint{}) : std::nullopt; }
  std::optional<SessionEvent> next_event(TimePoint /*now*/) override { return std::exchange(event_, std::nullopt); }
  Result<void> detach(const DetachSpec& /*spec*/) override { return {}; }

 private:
  const std::unique_ptr<LockDriver> lock_;
  std::optional<SessionEvent> event_;
};

}  // namespace

std::unique_ptr<LockSession> without_keeper(std::unique_ptr<LockDriver> slot) {
  return std::make_unique<SlotSession>(std::move(slot));
}

std::unique_ptr<LockDriver> slot_lock(std::unique_ptr<KeyMemory> memory, const LockSpec& spec, const std::string& who,
                                      std::string store, const Runtime& runtime) {
  std::string ran = with_revocation(who, ran_word(wait_status_text(0)));
  return std::make_unique<SlotLock>(std::move(memory), spec, std::move(ran), std::move(store), runtime.clock);
}

}  // namespace dlock
