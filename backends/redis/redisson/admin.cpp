// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "backends/redis/deployment/admin.h"
#include "backends/redis/deployment/server_findings.h"
#include "backends/redis/redisson/layout.h"
#include "backends/redis/redisson/rules.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

/// Redisson's layout for commands that supervise nothing.
class RedissonAdmin final : public LayoutAdmin {
 public:
  RedissonAdmin(std::unique_ptr<Deployment> deployment, const BackendUrl& url, const Runtime& runtime)
      : LayoutAdmin(std::move(deployment), url.redacted(), runtime),
        kind_(redisson_kind(url)),
        cluster_(is_redis_cluster(url)),
        replicas_(redis_replicas(url)) {}

  /// Removes nothing: what Redisson leaves for ever (token counters, queues) belongs to the services that use it.
  Result<std::vector<Swept>> collect_garbage(bool /*dry_run*/) override { return std::vector<Swept>{}; }

  std::vector<Finding> diagnose() override {
    NeededRights needed{commands_of_scripts(),
                        {"exists"},
                        "redisson_lock__channel:{dlock-doctor}",
                        "'&redisson_*' '&__redis__:invalidate'"};
    for (const char* command :
         {"type", "hincrby", "hkeys", "incr", "zincrby", "lrange", "lindex", "lpop", "rpush", "lrem"}) {
      needed.commands.emplace_back(command);
    }
    auto findings = diagnose_servers(*deployment_, store_, needed, runtime_);
    findings.push_back(Finding::ok(std::string("kind=") + kind_word(kind_)));
    return findings;
  }

 private:
  Result<Release> take_for_ping(const LockName& name) override {
    TRY_ASSIGN(auto lock, layout_of(name));
    const RedissonAsk ask{.owner = Owner::random(), .ttl = 10s, .info = who_text("ping")};
    if (const auto taken = lock.acquire(ask, soon(), nullptr); !taken) {
      if (lock.was_answered()) (void)release(name, ask.owner);  // it is there where only replicas have not confirmed it
      if (lock.was_answered()) forget_ping(name);
      return taken.error();
    }
    return Release([this, name, owner = ask.owner] { return release(name, owner); });
  }

  void forget_ping(const LockName& name) override {
    if (auto lock = layout_of(name)) lock->erase(soon());
  }

  Result<std::unique_ptr<Layout>> open(const LockName& name) override {
    TRY_ASSIGN(auto lock, layout_of(name));
    return std::unique_ptr<Layout>(std::make_unique<RedissonLayout>(std::move(lock)));
  }

  Result<void> check_has_tokens() const override { return redis::check_has_tokens(kind_); }

  Result<RedissonLayout> layout_of(const LockName& name) {
    TRY_ASSIGN(auto names, redisson_names(kind_, name, cluster_));
    return RedissonLayout(*deployment_, kind_, name, std::move(names), store_, replicas_, runtime_.clock);
  }

  const RedissonKind kind_;
  const bool cluster_;
  const ReplicaDemand replicas_;
};

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_redisson_admin(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto deployment, redis_deployment(url, runtime.clock, runtime.patience));
  return std::unique_ptr<LockAdmin>(std::make_unique<RedissonAdmin>(std::move(deployment), url, runtime));
}

}  // namespace dlock::redis
