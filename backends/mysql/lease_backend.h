// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/mysql/lease_store.h"
#include "backends/mysql/settings.h"
#include "lib/base/runtime.h"
#include "lib/lock/backend.h"

namespace dlock::mysql {

/// strategy=lease for commands that supervise nothing. Each call is bounded by a few seconds.
class LeaseBackend final : public Backend {
 public:
  LeaseBackend(Settings settings, const Dial& dial, const Runtime& runtime);

  const std::string& store() const override { return settings_.store; }
  Result<std::unique_ptr<LockSession>> open(const LockSpec& spec) override;
  Result<LockState> inspect(const LockName& name) override;
  Result<std::vector<LockState>> inspect_all() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown) override;
  Result<void> check(const LockName& name, FencingToken token) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override;
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  std::vector<Finding> diagnose() override;
  Result<Duration> ping() override;
  Result<std::string> set_up(bool print_only) override;

 private:
  struct Change {
    LeaseRow before;
    LeaseRow after;
  };
  /// Reads the row and puts what `make` makes of it in its place, until nobody comes in between; nullopt of `make`
  /// ends it: nullopt. Asks again when an answer is missing.
  template <typename Make>
  Result<std::optional<Change>> rewrite(const LockName& name, Make make, bool* unanswered);
  Result<dlock::mysql::Answer> run(const std::string& statement);
  TimePoint soon() const;
  void tell_by_kill(const LeaseRow& row);

  const Settings settings_;
  const Runtime runtime_;
  Servers servers_;
};

}  // namespace dlock::mysql
