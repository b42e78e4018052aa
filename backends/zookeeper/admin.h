// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/view.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/lock/admin_common.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_name.h"

namespace dlock::zookeeper {

/// Answer of the server at `address` ("10.0.0.1:2181", numeric) to a word of four letters ("srvr"). Unavailable if
/// it does not by `until`.
Result<std::string> ask_server(const std::string& address, std::string_view word, TimePoint until, Clock& clock);

/// The "name: value" and "name=value" lines of such an answer. Pure.
std::map<std::string, std::string> parse_answer(std::string_view text);

/// Judges one server by its answers to "srvr" and "conf", which is empty if its whitelist does not allow it. Pure.
std::vector<Finding> judge_server(const std::string& address, const std::map<std::string, std::string>& srvr,
                                  const std::map<std::string, std::string>& conf);

/// Judges `longest`, the longest session that the servers grant, by the ttl that it allows. Pure.
Finding judge_sessions(const std::string& store, Duration longest);

/// Asks and judges every server, the longest session, and the rights of the URL's user. Bounded by a few seconds.
std::vector<Finding> diagnose_ensemble(Ensemble& ensemble, const Runtime& runtime);

/// The commands that supervise nothing, over one session that is opened on first use. Each call is bounded by a few
/// seconds.
class ZookeeperAdmin final : public AdminCommon {
 public:
  ZookeeperAdmin(Ensemble ensemble, const Runtime& runtime)
      : AdminCommon(runtime.clock), ensemble_(std::move(ensemble)), runtime_(runtime), clock_(ensemble_.root()) {}

  const std::string& store() const override { return ensemble_.store(); }
  Result<LockState> inspect(const LockName& name) override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override;
  /// Curator's holders get __REVOKE__, which those read that were made revocable.
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override;
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override;
  Result<void> release(const LockName& name, const Owner& owner) override;
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  std::vector<Finding> diagnose() override;

 private:
  /// Those whose directories are in use, by the recipe of the URL.
  Result<KnownLocks> known_locks() override;
  Result<Release> take_for_ping(const LockName& name) override;
  TimePoint soon() const { return runtime_.clock.now() + runtime_.patience; }
  /// The session, connected or not yet; opens another one if it has ended or is_shut_out().
  Result<Calls*> session(TimePoint until);
  /// The same, but waits until a server has answered in it.
  Result<Calls*> reached_session();
  /// What `read` answers, which is called again in another session if its own has ended meanwhile. Unavailable if
  /// sessions end again and again until `until`.
  template <typename Read>
  std::invoke_result_t<Read, Calls&> in_session(TimePoint until, const Read& read);
  Result<std::vector<ParticipantNode>> present_at(const LockName& name, TimePoint until);
  LockState shown(const LockName& name, const std::vector<ParticipantNode>& present, TimePoint until);
  /// The node of `owner`'s lease. Lost if there is none, Unsupported if `owner` holds `name` by a process.
  Result<ParticipantNode> lease_of(const LockName& name, const Owner& owner, TimePoint until);
  Result<void> free(const std::vector<ParticipantNode>& holders, const LockState& shown, TimePoint until);
  Result<std::optional<Swept>> sweep_lease(const std::string& path, bool dry_run, TimePoint until);

  Ensemble ensemble_;
  const Runtime runtime_;
  std::unique_ptr<Calls> calls_;
  ServerClock clock_;
};

}  // namespace dlock::zookeeper
