// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/script_admin.h"

#include <set>

#include "backends/redis/deployment/companions.h"
#include "backends/redis/deployment/lock_times.h"
#include "lib/lock/lock_errors.h"

namespace dlock::redis {

TimePoint ScriptAdmin::soon() const { return runtime_.clock.now() + runtime_.patience; }

Result<LockState> ScriptAdmin::inspect(const LockName& name) {
  auto lock = open(name);
  if (!lock) return lock.error();
  return (*lock)->read_state(soon(), nullptr);
}

Result<LiveLocks> ScriptAdmin::inspect_all() {
  std::set<LockName> names;
  for (const char* suffix : {"holders", "waiting"}) {
    auto some = names_with_companion(*deployment_, suffix, store_, runtime_);
    if (!some) return some.error();
    names.insert(some->begin(), some->end());
  }
  LiveLocks live;
  for (const LockName& name : names) {
    auto state = inspect(name);
    if (!state) {
      const bool denied = state.error().code == ErrorCode::kDenied;
      if (!denied || ++live.unreadable == names.size()) return state.error();  // where all are, the reason says more
      continue;
    }
    if (!state->holders.empty() || !state->waiters.empty()) live.locks.push_back(std::move(*state));
  }
  return live;
}

Result<ForceReleased> ScriptAdmin::force_release(const LockName& name, const LockState& shown, const std::string& by) {
  auto lock = open(name);
  if (!lock) return lock.error();
  if (const auto freed = (*lock)->force(shown, by, soon()); !freed) return freed.error();
  return ForceReleased{shown.holders};
}

Result<void> ScriptAdmin::check(const LockName& name, FencingToken token) {
  if (const auto has = check_has_tokens(); !has) return has;
  const auto state = inspect(name);
  if (!state) return state.error();
  for (const Participant& holder : state->holders) {
    if (holder.token == token && holder.note != kDelayAfterLease) return {};
  }
  return no_present_holder(token, name);
}

Result<HeldLock> ScriptAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  auto lock = open(name);
  if (!lock) return lock.error();
  const TimePoint until = soon();
  auto token = (*lock)->renew(owner, ttl, true, until, nullptr);
  while (may_ask_again(token, runtime_.clock, until)) token = (*lock)->renew(owner, ttl, true, until, nullptr);
  if (!token) return token.error();
  return HeldLock{name, owner, *token, store_};
}

Result<void> ScriptAdmin::release(const LockName& name, const Owner& owner) {
  auto lock = open(name);
  if (!lock) return lock.error();
  const TimePoint until = soon();
  auto released = (*lock)->release(owner, nullptr, until, nullptr);
  bool unanswered = false;
  while (may_ask_again(released, runtime_.clock, until)) {
    unanswered = true;
    released = (*lock)->release(owner, nullptr, until, nullptr);
  }
  // Gone after a release whose answer was lost: that release did it.
  if (unanswered && !released && released.error().code == ErrorCode::kLost) return {};
  return released;
}

Result<UniqueFd> ScriptAdmin::fence(const LockName& resource, FencingToken token, const WaitPolicy& /*wait*/) {
  if (const auto has = check_has_tokens(); !has) return has.error();
  auto lock = open(resource);
  if (!lock) return lock.error();
  if (const auto passed = (*lock)->fence(token, soon()); !passed) return passed.error();
  return UniqueFd();
}

Result<std::vector<ServerPlace>> ScriptAdmin::servers() {
  const auto named = deployment_->named_servers(soon());
  if (!named) return named.error();
  std::vector<ServerPlace> all;
  for (const Connection* server : *named) {
    const ConnectionSettings& settings = server->settings();
    all.push_back({settings.endpoint.text(), settings.reached.value_or(settings.endpoint).text()});
  }
  return all;
}

}  // namespace dlock::redis
