// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/admin.h"

#include <set>

#include "backends/redis/deployment/companions.h"
#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/lock_times.h"
#include "backends/redis/deployment/scripts.h"
#include "backends/redis/native/doctor.h"
#include "backends/redis/native/store.h"
#include "backends/redis/wire/record.h"
#include "lib/base/random.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

}  // namespace

Result<NativeStore> NativeAdmin::store_of(const LockName& name) {
  auto names = native_names(name);
  if (!names) return names.error();
  return NativeStore(*deployment_, name, std::move(*names), store_, replicas_, runtime_.clock);
}

TimePoint NativeAdmin::soon() const { return runtime_.clock.now() + kCommandBudget; }

Result<LockState> NativeAdmin::inspect(const LockName& name) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  return lock->read_state(soon(), nullptr);
}

Result<LiveLocks> NativeAdmin::inspect_all() {
  std::set<LockName> names;
  for (const char* suffix : {"holders", "waiting"}) {
    auto some = names_with_companion(*deployment_, suffix, store_, runtime_.clock);
    if (!some) return some.error();
    names.insert(some->begin(), some->end());
  }
  LiveLocks live;
  for (const LockName& name : names) {
    auto state = inspect(name);
    if (!state) return state.error();
    if (!state->holders.empty() || !state->waiters.empty()) live.locks.push_back(std::move(*state));
  }
  return live;
}

Result<ForceReleased> NativeAdmin::force_release(const LockName& name, const LockState& shown, const std::string& by) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  if (const auto freed = lock->force(shown, by, soon()); !freed) return freed.error();
  return ForceReleased{shown.holders};
}

Result<void> NativeAdmin::check(const LockName& name, FencingToken token) {
  const auto state = inspect(name);
  if (!state) return state.error();
  for (const Participant& holder : state->holders) {
    if (holder.token == token) return {};
  }
  return Error{ErrorCode::kLost, "token " + token.text() + " is not that of a present holder of " + name.text()};
}

Result<HeldLock> NativeAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  const TimePoint until = soon();
  auto token = lock->renew(owner, ttl, true, until, nullptr);
  while (may_ask_again(token, runtime_.clock, until)) token = lock->renew(owner, ttl, true, until, nullptr);
  if (!token) return token.error();
  return HeldLock{name, owner, *token, store_};
}

Result<void> NativeAdmin::release(const LockName& name, const Owner& owner) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  const TimePoint until = soon();
  auto released = lock->release(owner, nullptr, until, nullptr);
  bool unanswered = false;
  while (may_ask_again(released, runtime_.clock, until)) {
    unanswered = true;
    released = lock->release(owner, nullptr, until, nullptr);
  }
  // Gone after an answer that was lost: that was us.
  if (unanswered && !released && released.error().code == ErrorCode::kLost) return {};
  return released;
}

/// The check alone: a server cannot keep other checks out for as long as a command runs.
Result<UniqueFd> NativeAdmin::fence(const LockName& resource, FencingToken token, const WaitPolicy& /*wait*/) {
  auto lock = store_of(resource);
  if (!lock) return lock.error();
  if (const auto passed = lock->fence(token, soon()); !passed) return passed.error();
  return UniqueFd();
}

Result<std::vector<Swept>> NativeAdmin::collect_garbage(bool dry_run) {
  auto names = names_with_companion(*deployment_, "fence", store_, runtime_.clock);
  if (!names) return names.error();
  std::vector<Swept> swept;
  for (const LockName& name : *names) {
    const auto keys = native_names(name);
    if (!keys) continue;
    auto replies = deployment_->call(
        keys->key, {{"EVAL", deployment_scripts::kSweep, "2", keys->key, keys->fence, dry_run ? "0" : "1"}}, soon(),
        nullptr);
    if (!replies) return replies.error();
    if (auto error = error_of(replies->front(), store_)) return *error;
    if (replies->front().integer == 1)
      swept.push_back({name, "the token counter of a lock that nobody took for a day"});
  }
  return swept;
}

std::vector<Finding> NativeAdmin::diagnose() { return diagnose_native(*deployment_, store_, runtime_); }

Result<Duration> NativeAdmin::ping() {
  const auto name = LockName::parse("dlock-ping-" + random_hex(8));
  if (!name) return name.error();
  auto lock = store_of(*name);
  if (!lock) return lock.error();
  const NativeAsk ask{.owner = Owner::random(), .ttl = 10s, .ancestor = {}, .arrival = {}, .info = who_text("ping")};
  const TimePoint before = runtime_.clock.now();
  const auto granted = lock->acquire(ask, soon(), nullptr);
  if (!granted) return granted.error();
  if (const auto released = lock->release(ask.owner, nullptr, soon(), nullptr); !released) return released.error();
  const Duration took = runtime_.clock.now() - before;
  (void)deployment_->call(lock->names().key, {{"DEL", lock->names().fence}}, soon(), nullptr);
  return took;
}

}  // namespace dlock::redis
