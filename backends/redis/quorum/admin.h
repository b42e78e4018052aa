// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/redis/quorum/store.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/insist.h"
#include "lib/lock/admin_common.h"

namespace dlock::redis {

/// RedLock and Tair for commands that supervise nothing. Each call is bounded by 2 s, and within them asks again when
/// answers were lost. Single-threaded.
class QuorumAdmin final : public AdminCommon {
 public:
  QuorumAdmin(std::string store, QuorumKind kind, std::vector<ConnectionSettings> servers, const Runtime& runtime);

  const std::string& store() const override { return store_; }
  Result<LockState> inspect(const LockName& name) override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override;
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  std::vector<Finding> diagnose() override;

 private:
  Result<KnownLocks> known_locks() override;
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override;
  Result<GiveBack> take_for_ping(const LockName& name) override;
  void forget_ping(const LockName& name) override;
  TimePoint by() const;
  void tell_who_frees(const std::string& key, const std::string& owner, const std::string& by);
  /// Sends the same command to each server, and waits until all have answered or the call's time is over.
  ServerGroup::Answers ask_each(const Command& command) { return ask_each(std::vector<Command>{command}); }
  ServerGroup::Answers ask_each(const std::vector<Command>& commands);
  Result<QuorumQuestion> question(const LockName& name, const std::string& owner, Duration ttl) const;
  Insisted<Result<Outcome>> ask_until_known(QuorumStore& round, const Command& command);
  Result<void> judge(QuorumStore& round, const Command& command, const LockName& name, bool goes = false);
  Result<ForceReleased> drop_data(const LockName& name, const LockState& shown, const std::string& data);
  Result<bool> take_from(const LockName& name, const Participant& holder);
  std::vector<LockName> scan_names();

  const std::string store_;
  const QuorumKind kind_;
  const Runtime runtime_;
  ServerGroup group_;
};

/// For redlock:// and tair://. Misconfigured for a URL that names a server twice.
Result<std::unique_ptr<LockAdmin>> make_quorum_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
