// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/admin.h"

#include "backends/redis/deployment/companions.h"
#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/lock_times.h"
#include "backends/redis/deployment/scripts.h"
#include "backends/redis/native/doctor.h"
#include "backends/redis/native/store.h"
#include "backends/redis/wire/record.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

}  // namespace

Result<NativeStore> NativeAdmin::store_of(const LockName& name) {
  auto names = native_names(name);
  if (!names) return names.error();
  return NativeStore(*deployment_, name, std::move(*names), store_, replicas_, runtime_.clock);
}

Result<std::unique_ptr<ScriptStore>> NativeAdmin::open(const LockName& name) {
  auto lock = store_of(name);
  if (!lock) return lock.error();
  return std::unique_ptr<ScriptStore>(std::make_unique<NativeStore>(std::move(*lock)));
}

Result<std::vector<Swept>> NativeAdmin::collect_garbage(bool dry_run) {
  auto names = names_with_companion(*deployment_, "fence", store_, runtime_);
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
  const LockName name = LockName::for_ping();
  auto lock = store_of(name);
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
