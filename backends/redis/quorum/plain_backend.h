// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "backends/redis/quorum/plain_poll.h"
#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// What RedLock and Tair do for commands that supervise nothing. Each call is bounded by 2 s, and asks again within
/// them when answers were lost. What diagnose() looks at is theirs.
class PlainBackend : public LockAdmin {
 public:
  PlainBackend(std::string store, PlainKind kind, std::vector<ConnectionSettings> servers, const Runtime& runtime);

  const std::string& store() const override { return store_; }
  Result<LockState> inspect(const LockName& name) override;
  Result<LiveLocks> inspect_all() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown) override;
  Result<void> check(const LockName& name, FencingToken token) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override;
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  Result<Duration> ping() override;

 protected:
  TimePoint by() const;
  /// Each server's answer to the same command, waited for to the end.
  ServerGroup::Answers ask_each(const Command& command);
  const ServerGroup& group() const { return group_; }

 private:
  Result<PlainQuestion> question(const LockName& name, const std::string& owner, Duration ttl) const;
  Outcome settle(PlainPoll& poll, const Command& command, bool* unanswered = nullptr);
  Result<void> judge(PlainPoll& poll, const Command& command, const LockName& name, bool goes = false);
  Result<bool> take_from(const LockName& name, const Participant& holder);
  std::set<LockName> all_names();

  const std::string store_;
  const PlainKind kind_;
  const Runtime runtime_;
  ServerGroup group_;
};

/// The keeper's side. Unsupported for what one key cannot do.
Result<std::unique_ptr<LockDriver>> keep_plain(const BackendUrl& url, PlainKind kind, const std::string& what,
                                               const LockSpec& spec, const Runtime& runtime);

}  // namespace dlock::redis
