// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/admin.h"

#include <set>

#include "backends/redis/deployment/companions.h"
#include "backends/redis/deployment/lock_times.h"
#include "backends/redis/deployment/settings.h"
#include "backends/redis/redisson/doctor.h"
#include "backends/redis/redisson/rules.h"
#include "lib/base/random.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

}  // namespace

RedissonAdmin::RedissonAdmin(std::unique_ptr<Deployment> deployment, const BackendUrl& url, const Runtime& runtime)
    : deployment_(std::move(deployment)),
      kind_(redisson_kind(url)),
      cluster_(is_redis_cluster(url)),
      store_(url.redacted()),
      replicas_(redis_replicas(url)),
      runtime_(runtime) {}

Result<RedissonStore> RedissonAdmin::store_of(const LockName& name) {
  auto names = redisson_names(kind_, name, cluster_);
  if (!names) return names.error();
  return RedissonStore(*deployment_, kind_, name, std::move(*names), store_, replicas_, runtime_.clock);
}

TimePoint RedissonAdmin::soon() const { return runtime_.clock.now() + kCommandBudget; }

Result<LockState> RedissonAdmin::inspect(const LockName& name) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  return lock->read_state(soon(), nullptr);
}

Result<LiveLocks> RedissonAdmin::inspect_all() {
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

Result<ForceReleased> RedissonAdmin::force_release(const LockName& name, const LockState& shown,
                                                   const std::string& by) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  if (const auto freed = lock->force(shown, by, soon()); !freed) return freed.error();
  return ForceReleased{shown.holders};
}

Result<void> RedissonAdmin::check(const LockName& name, FencingToken token) {
  if (const auto has = check_has_tokens(kind_); !has) return has;
  const auto state = inspect(name);
  if (!state) return state.error();
  for (const Participant& holder : state->holders) {
    if (holder.token == token) return {};
  }
  return Error{ErrorCode::kLost, "token " + token.text() + " is not that of a present holder of " + name.text()};
}

Result<HeldLock> RedissonAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  const TimePoint until = soon();
  auto token = lock->renew(owner, ttl, true, until, nullptr);
  while (may_ask_again(token, runtime_.clock, until)) token = lock->renew(owner, ttl, true, until, nullptr);
  if (!token) return token.error();
  return HeldLock{name, owner, *token, store_};
}

Result<void> RedissonAdmin::release(const LockName& name, const Owner& owner) {
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
Result<UniqueFd> RedissonAdmin::fence(const LockName& resource, FencingToken token, const WaitPolicy& /*wait*/) {
  if (const auto has = check_has_tokens(kind_); !has) return has.error();
  auto lock = store_of(resource);
  if (!lock) return lock.error();
  if (const auto passed = lock->fence(token, soon()); !passed) return passed.error();
  return UniqueFd();
}

std::vector<Finding> RedissonAdmin::diagnose() { return diagnose_redisson(*deployment_, kind_, store_, runtime_); }

Result<Duration> RedissonAdmin::ping() {
  const auto name = LockName::parse("dlock-ping-" + random_hex(8));
  if (!name) return name.error();
  auto lock = store_of(*name);
  if (!lock) return lock.error();
  const RedissonAsk ask{.owner = Owner::random(),
                        .mode = hands_out_permits(kind_) ? Mode::kPermits : Mode::kExclusive,
                        .ttl = 10s,
                        .permits = 1,
                        .ancestor = {},
                        .info = who_text("ping")};
  const TimePoint before = runtime_.clock.now();
  const auto granted = lock->acquire(ask, soon(), nullptr);
  if (!granted) return granted.error();
  if (const auto released = lock->release(ask.owner, nullptr, soon(), nullptr); !released) return released.error();
  const Duration took = runtime_.clock.now() - before;
  lock->erase(soon());
  return took;
}

Result<std::unique_ptr<LockAdmin>> make_redisson_admin(const BackendUrl& url, const Runtime& runtime) {
  auto deployment = redis_deployment(url, runtime.clock, connect_timeout_of({}));
  if (!deployment) return deployment.error();
  return std::unique_ptr<LockAdmin>(std::make_unique<RedissonAdmin>(std::move(*deployment), url, runtime));
}

}  // namespace dlock::redis
