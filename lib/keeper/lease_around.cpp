// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/lease_around.h"

#include <algorithm>
#include <utility>

#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/patience.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPause = 250ms;     ///< between two questions to a store that does not answer
constexpr Duration kClocksApart = 2s;  ///< by which the end of a lease by another clock may be wrong

struct Claimed {
  LockState state;
  std::optional<Participant> holder;  ///< nullopt: the owner does not hold it
};

Result<Claimed> look(LockAdmin& store, const LockSpec& spec) {
  TRY_ASSIGN(auto state, store.inspect(spec.name));
  for (const Participant& holder : state.holders) {
    if (holder.owner == spec.ancestor->owner.text() && is_hold(holder.standing)) return Claimed{state, holder};
  }
  return Claimed{std::move(state), std::nullopt};
}

class LeaseAround final : public LockDriver {
 public:
  LeaseAround(std::unique_ptr<LockAdmin> store, LockSpec spec, const Runtime& runtime)
      : store_(std::move(store)), spec_(std::move(spec)), clock_(runtime.clock) {}

  std::optional<std::variant<Granted, Refused>> acquire(Control& /*control*/) override {
    const auto kept = keep();
    if (!kept) return Refused{kept.error(), std::nullopt};
    HeldLock lock{.name = spec_.name,
                  .owner = spec_.ancestor->owner,
                  .token = kept->holder.token,
                  .store = store_->store(),
                  .reentered = true,
                  .slot = kept->holder.slot};
    return Granted{{std::move(lock)}, kept->deadline};
  }

  Renewal renew(Control& /*control*/, TimePoint /*until*/) override {
    const auto kept = keep();
    if (kept) return RenewalRenewed{kept->deadline, kept->holder.revoked};
    if (kept.error().code == ErrorCode::kLost) return RenewalLost{kept.error().message};
    return RenewalUnknown{kept.error().message};
  }

  Result<void> release(TimePoint /*until*/) override { return {}; }
  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint /*until*/) override { return {}; }

 private:
  struct Kept {
    Participant holder;
    TimePoint deadline;
  };

  /// A lease that lasts longer by itself is not made shorter.
  Result<Kept> keep() {
    const TimePoint sent = clock_.now();
    TRY_ASSIGN(auto claimed, look(*store_, spec_));
    if (!claimed.holder) return not_held(spec_.name);
    const auto& until = claimed.holder->until;
    const bool lasts = until && *until - clock_.wall() > spec_.ttl + kClocksApart;
    const TimePoint asked = lasts ? sent : clock_.now();
    if (!lasts) {
      if (const auto renewed = store_->renew(spec_.name, spec_.ancestor->owner, spec_.ttl); !renewed) {
        return renewed.error();
      }
    }
    return Kept{std::move(*claimed.holder), lease_deadline(asked, spec_.ttl)};
  }

  const std::unique_ptr<LockAdmin> store_;
  const LockSpec spec_;
  Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<LockDriver>> open_around(std::unique_ptr<LockAdmin> store, LockSpec spec, const OpenLock& open,
                                                const Runtime& runtime) {
  const TimePoint until = Patience(spec.wait).attempt_end(runtime.clock.now());
  const auto claimed = insist(runtime.clock, until, kPause, [&] { return look(*store, spec); }).answer;
  if (!claimed) return claimed.error();
  const auto& holder = claimed->holder;
  if (!holder) {
    spec.ancestor.reset();
    return open(spec);
  }
  if (!holder->lease || holder->pid != 0) {
    return Error{
        ErrorCode::kUnsupported,
        spec.name.text() + " is held by an outer command, whose dlock cannot be reached from here",
        "run both in one network namespace of one machine; if that dlock was killed, wait until the lock is free"};
  }
  if (auto why = why_not_entered(holder->mode, claimed->state.permits, spec)) return std::move(*why);
  return std::unique_ptr<LockDriver>(std::make_unique<LeaseAround>(std::move(store), std::move(spec), runtime));
}

}  // namespace dlock
