// SPDX-License-Identifier: Apache-2.0
#include "tests/support/keeper_store.h"

#include <unistd.h>

#include <climits>
#include <stdexcept>

#include "backends/mysql/mysql_backend.h"
#include "backends/redis/redis_backend.h"
#include "backends/zookeeper/zookeeper_backend.h"
#include "lib/keeper/keeper_session.h"

namespace dlock::testing {
namespace {

std::string program_of(Family family) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string own(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string folder = own.substr(0, own.rfind("/tests/"));
  return folder + "/libexec/dlock/dlock-" + family_name(family);
}

/// Everything as the backend has it, but its locks are taken as dlock takes them: through the program.
class KeeperStore final : public Backend {
 public:
  KeeperStore(std::unique_ptr<Backend> backend, BackendUrl url) : backend_(std::move(backend)), url_(std::move(url)) {}

  const std::string& store() const override { return backend_->store(); }
  Result<std::unique_ptr<LockSession>> open(const LockSpec& spec) override {
    return std::unique_ptr<LockSession>(std::make_unique<KeeperSession>(program_of(url_.family), url_, spec, clock_));
  }
  Result<LockState> inspect(const LockName& name) override { return backend_->inspect(name); }
  Result<std::vector<LockState>> inspect_all() override { return backend_->inspect_all(); }
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown) override {
    return backend_->force_release(name, shown);
  }
  Result<void> check(const LockName& name, FencingToken token) override { return backend_->check(name, token); }
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    return backend_->renew(name, owner, ttl);
  }
  Result<void> release(const LockName& name, const Owner& owner) override { return backend_->release(name, owner); }
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override {
    return backend_->fence(resource, token, wait);
  }
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override { return backend_->collect_garbage(dry_run); }
  std::vector<Finding> diagnose() override { return backend_->diagnose(); }
  Result<Duration> ping() override { return backend_->ping(); }

 private:
  SystemClock clock_;
  std::unique_ptr<Backend> backend_;
  BackendUrl url_;
};

Result<std::unique_ptr<Backend>> make_backend(const BackendUrl& url, const Runtime& runtime) {
  if (url.family == Family::kMysql) return make_mysql_backend(url, runtime);
  if (url.family == Family::kZookeeper) return make_zookeeper_backend(url, runtime);
  return make_redis_backend(url, runtime);
}

}  // namespace

std::unique_ptr<Backend> keeper_store(const std::string& text) {
  static SystemClock clock;
  static const Log log;
  auto url = BackendUrl::parse(text);
  if (!url) throw std::runtime_error(url.error().message);
  auto backend = make_backend(*url, Runtime{clock, log});
  if (!backend) throw std::runtime_error(backend.error().message);
  return std::make_unique<KeeperStore>(std::move(*backend), *url);
}

}  // namespace dlock::testing
