// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/row/store.h"

#include <algorithm>

#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

/// Longer than a server that cannot refuse at once waits for a row.
constexpr Duration kRowWait = std::chrono::milliseconds(1500);

Participant transaction() {
  Participant participant;
  participant.note = "another program, in a transaction that is not over";
  return participant;
}

class RowLock final : public PollableLock {
 public:
  RowLock(Settings settings, const Dial& dial, const LockSpec& spec, const Runtime& runtime)
      : settings_(std::move(settings)),
        runtime_(runtime),
        spec_(spec),
        servers_(settings_.servers, dial, runtime.clock),
        table_(settings_, servers_),
        who_(who_text(spec)) {}

  Attempt take(Control& control) override {
    const TimePoint sent = runtime_.clock.now();
    const TimePoint until = std::max(Patience(spec_.wait).attempt_end(sent), sent + kRowWait);
    TRY_ASSIGN(const auto token, table_.take(spec_.name, spec_.owner.text(), who_, spec_.ttl, until, &control));
    if (token) return Taken{FencingToken(*token), sent};
    TRY_ASSIGN(auto state, read_state(until, &control));
    if (state.holders.empty() && table_.is_row_locked()) state.holders.push_back(transaction());
    return Others{std::move(state), remaining_};
  }

  Renewal renew(Control* control, TimePoint until) override {
    const TimePoint sent = runtime_.clock.now();
    const auto renewed = table_.renew(spec_.name, spec_.owner.text(), spec_.ttl, false, "", until, control);
    if (!renewed) return RenewalUnknown{renewed.error().message};
    if (*renewed) return RenewalRenewed{lease_deadline(sent, spec_.ttl), table_.revoked()};
    return RenewalLost{"it is no longer ours on " + settings_.store};
  }

  Result<void> withdraw(TimePoint until) override {
    const std::string ours = spec_.owner.text();
    const auto gone = table_.release(spec_.name, ours, {}, until, nullptr);
    return gone ? Result<void>() : gone.error();
  }

  Result<void> release(TimePoint until) override {
    const auto released = table_.release_entry(spec_.name, spec_.owner.text(), until);
    if (!released) {
      unanswered_ = true;
      return released.error();
    }
    servers_.close();
    if (*released || unanswered_) return {};
    return not_held(spec_.name);
  }

  Result<void> leave(const LeaveSpec& spec, TimePoint until) override {
    TRY_ASSIGN(const auto left, table_.renew(spec_.name, spec_.owner.text(), spec.ttl, true, spec.ran, until, nullptr));
    return left ? Result<void>() : not_held(spec_.name);
  }

  Result<LockState> read_state(TimePoint until, Control* control) override {
    return table_.look(spec_.name, settings_.store, until, control, &remaining_);
  }

 private:
  const Settings settings_;
  const Runtime runtime_;
  const LockSpec spec_;
  Servers servers_;
  RowStore table_;
  const std::string who_;
  std::optional<Duration> remaining_;
  bool unanswered_ = false;
};

}  // namespace

std::unique_ptr<PollableLock> row_lock(Settings settings, const Dial& dial, const LockSpec& spec,
                                       const Runtime& runtime) {
  return std::make_unique<RowLock>(std::move(settings), dial, spec, runtime);
}

}  // namespace dlock::mysql
