// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/commands.h"

#include <algorithm>

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBudget = 5s;
constexpr Duration kSession = 10s;  ///< nothing of ours depends on it

}  // namespace

TimePoint Commands::soon() const { return runtime_.clock.now() + kBudget; }

Result<Calls*> Commands::session(TimePoint until) {
  if (!calls_ || calls_->state() == SessionState::kExpired) {
    calls_.reset();
    auto calls = ensemble_.connect(kSession, nullptr, until, nullptr);
    if (!calls) return calls.error();
    calls_ = std::move(*calls);
  }
  return calls_.get();
}

Result<std::vector<Present>> Commands::look(const LockName& name, TimePoint until) {
  const auto directory = directory_of(ensemble_.root(), name);
  if (!directory) return directory.error();
  const auto calls = session(until);
  if (!calls) return calls.error();
  return look_at(**calls, ensemble_.recipe(), *directory, until, nullptr);
}

Result<std::unique_ptr<LockSession>> Commands::open(const LockSpec& /*spec*/) {
  return Error{ErrorCode::kInternal, "locks on " + store() + " are taken by their keeper"};
}

Result<LockState> Commands::inspect(const LockName& name) {
  const auto present = look(name, soon());
  if (!present) return present.error();
  return state_of(name, store(), *present);
}

Result<void> Commands::check(const LockName& name, FencingToken token) {
  const auto present = look(name, soon());
  if (!present) return present.error();
  const bool is_held = std::any_of(present->begin(), present->end(),
                                   [token](const Present& one) { return one.holds && one.party.token == token; });
  if (is_held) return {};
  return Error{ErrorCode::kLost, "token " + token.text() + " is not that of a present holder of " + name.text()};
}

Result<std::vector<LockState>> Commands::inspect_all() { return Error{ErrorCode::kUnsupported, "not yet"}; }

Result<ForceReleased> Commands::force_release(const LockName& /*name*/, const LockState& /*shown*/) {
  return Error{ErrorCode::kUnsupported, "not yet"};
}
Result<HeldLock> Commands::renew(const LockName& /*name*/, const Owner& /*owner*/, Duration /*ttl*/) {
  return Error{ErrorCode::kUnsupported, "not yet"};
}
Result<void> Commands::release(const LockName& /*name*/, const Owner& /*owner*/) {
  return Error{ErrorCode::kUnsupported, "not yet"};
}
Result<UniqueFd> Commands::fence(const LockName& /*resource*/, FencingToken /*token*/, const WaitPolicy& /*wait*/) {
  return Error{ErrorCode::kUnsupported, "not yet"};
}
Result<std::vector<Swept>> Commands::collect_garbage(bool /*dry_run*/) {
  return Error{ErrorCode::kUnsupported, "not yet"};
}
std::vector<Finding> Commands::diagnose() { return {}; }
Result<Duration> Commands::ping() { return Error{ErrorCode::kUnsupported, "not yet"}; }

}  // namespace dlock::zookeeper
