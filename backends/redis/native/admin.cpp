// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>

#include "backends/redis/deployment/admin.h"
#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/record.h"
#include "backends/redis/deployment/scripts.h"
#include "backends/redis/deployment/server_findings.h"
#include "backends/redis/native/layout.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

/// The native layout for commands that supervise nothing.
class NativeAdmin final : public LayoutAdmin {
 public:
  NativeAdmin(std::unique_ptr<Deployment> deployment, std::string store, ReplicaDemand replicas, const Runtime& runtime)
      : LayoutAdmin(std::move(deployment), std::move(store), runtime), replicas_(replicas) {}

  Result<std::vector<Swept>> collect_garbage(bool dry_run) override {
    TRY_ASSIGN(const auto names, names_with_companion(*deployment_, "fence", store_, runtime_));
    std::vector<Swept> swept;
    for (std::size_t begin = 0; begin < names.size(); begin += kKeysAtOnce) {
      std::vector<LockName> some;
      std::vector<std::string> keys;
      std::vector<Command> commands;
      for (std::size_t i = begin; i < std::min(names.size(), begin + kKeysAtOnce); ++i) {
        const auto of = native_names(names[i]);
        if (!of) continue;
        some.push_back(names[i]);
        keys.push_back(of->key);
        commands.push_back({"EVAL", deployment_scripts::kSweep, "2", of->key, of->fence, dry_run ? "0" : "1"});
      }
      const auto replies = call_each(*deployment_, keys, commands, runtime_, soon());
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (!replies[i]) return replies[i].error();
        if (auto error = error_of(*replies[i], store_)) return *error;
        if (replies[i]->integer == 1)
          swept.push_back({some[i], "the token counter of a lock that was not taken for a day"});
      }
    }
    return swept;
  }

  std::vector<Finding> diagnose() override {
    const NeededRights needed{
        commands_of_scripts(), {"type", "exists"}, "dlock:{doctor}:wake:x", "'&dlock:*' '&__redis__:invalidate'"};
    return diagnose_servers(*deployment_, store_, needed, runtime_);
  }

 private:
  Result<Release> take_for_ping(const LockName& name) override {
    TRY_ASSIGN(auto lock, layout_of(name));
    const NativeAsk ask{.owner = Owner::random(), .ttl = 10s, .arrival = {}, .info = who_text("ping")};
    if (const auto taken = lock.acquire(ask, soon(), nullptr); !taken) {
      if (lock.was_answered()) (void)release(name, ask.owner);  // it is there where only replicas have not confirmed it
      if (lock.was_answered()) forget_ping(name);
      return taken.error();
    }
    return Release([this, name, owner = ask.owner] { return release(name, owner); });
  }

  void forget_ping(const LockName& name) override {
    const auto names = native_names(name);
    if (names) (void)deployment_->call(names->key, {{"DEL", names->fence}}, soon(), nullptr);
  }

  Result<std::unique_ptr<Layout>> open(const LockName& name) override {
    TRY_ASSIGN(auto lock, layout_of(name));
    return std::unique_ptr<Layout>(std::make_unique<NativeLayout>(std::move(lock)));
  }

  Result<NativeLayout> layout_of(const LockName& name) {
    TRY_ASSIGN(auto names, native_names(name));
    return NativeLayout(*deployment_, name, std::move(names), store_, replicas_, runtime_.clock);
  }

  const ReplicaDemand replicas_;
};

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_native_admin(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto deployment, redis_deployment(url, runtime.clock, runtime.patience));
  return std::unique_ptr<LockAdmin>(
      std::make_unique<NativeAdmin>(std::move(deployment), url.redacted(), redis_replicas(url), runtime));
}

}  // namespace dlock::redis
