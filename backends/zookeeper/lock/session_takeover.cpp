// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/session_takeover.h"

#include "lib/base/human_text.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"

namespace dlock::zookeeper {

namespace {

constexpr Duration kRemoveAgain = std::chrono::milliseconds(40);

Result<std::unique_ptr<Calls>> attached(Result<std::unique_ptr<Calls>> calls, TimePoint until) {
  if (!calls) return calls;
  while ((*calls)->timeout() == Duration(0)) {
    const auto answer = (*calls)->call(ask_sync("/"), until, nullptr);
    if (answer || (*calls)->timeout() > Duration(0)) break;
    if (answer.error().code != ErrorCode::kUnavailable || (*calls)->clock().now() >= until) {
      (*calls)->session().abandon();  // it is not ours to close
      return answer.error();
    }
    (*calls)->rest(until, nullptr);
  }
  return calls;
}

}  // namespace

/// By the server that had it, if that is there. A follower informs the leader with the next ping of the sessions that
/// it has heard of, and for how long: another server's word would be overruled by what the old one heard last.
Result<std::unique_ptr<Calls>> take_over(Ensemble& ensemble, const SessionKey& key, Duration timeout, TimePoint until) {
  if (!key.server.empty()) {
    auto calls = ensemble.connect_again(timeout, key);
    if (!calls) return calls;
    const TimePoint now = (*calls)->clock().now();
    calls = attached(std::move(calls), now + (until - now) / 2);
    if (calls || calls.error().code != ErrorCode::kUnavailable) return calls;
  }
  return attached(ensemble.connect(timeout, &key, until, nullptr), until);
}

Result<void> check_timeout(const Calls& calls, Duration wanted) {
  if (calls.timeout() >= wanted - clock_drift(wanted)) return {};
  return Error{ErrorCode::kUnsupported,
               calls.store() + " ends sessions after " + human_duration(calls.timeout()) +
                   " at the latest, so a lease of " + human_duration(wanted) + " needs a process",
               "choose a shorter --ttl, add --watch-pid, or raise maxSessionTimeout on the servers"};
}

Result<void> check_nodes(Calls& calls, const std::vector<std::string>& paths, TimePoint until) {
  if (const auto synced = calls.call_until(ask_sync(paths.front()), until, nullptr); !synced) {
    return synced.error();
  }
  for (const std::string& path : paths) {
    const auto node = calls.call_until(ask_stat(path), until, nullptr);
    if (!node) return node.error();
    if (node->code != Code::kOk || node->stat.ephemeral_owner != calls.key().id) {
      return Error{ErrorCode::kLost, "it was deleted on " + calls.store()};
    }
  }
  return {};
}

Result<SessionKey> renew_lease(Ensemble& ensemble, const DetachedLease& lease, Duration ttl, TimePoint until) {
  const auto calls = take_over(ensemble, lease.key, ttl + lease.lock_delay, until);
  if (!calls) return calls.error();
  auto checked = check_nodes(**calls, lease.paths, until);
  if (checked) checked = check_timeout(**calls, ttl + lease.lock_delay);
  if (!checked && checked.error().code == ErrorCode::kLost) (*calls)->session().close();
  else (*calls)->session().abandon();
  if (!checked) return checked.error();
  return (*calls)->key();
}

Result<void> end_session(Ensemble& ensemble, Calls& calls, TimePoint until) {
  const SessionKey key = calls.key();
  calls.end();
  while (true) {  // the answer may have been lost
    const auto again = take_over(ensemble, key, kLastTimeout, until);
    if (!again && again.error().code == ErrorCode::kLost) return {};
    if (!again) return again.error();
    (*again)->end();
  }
}

/// Under recipe=simple the next holder's node may have taken the place of ours, and a deletion cannot distinguish them.
Result<void> end_lease(Ensemble& ensemble, const DetachedLease& lease, TimePoint until) {
  const auto calls = take_over(ensemble, lease.key, kLastTimeout, until);
  if (!calls) return calls.error();
  auto checked = check_nodes(**calls, lease.paths, until);
  if (checked && ensemble.recipe() == Recipe::kSimple) return end_session(ensemble, **calls, until);
  std::vector<Change> removals;
  for (const std::string& path : lease.paths) removals.push_back(delete_node(path));
  const auto remove = [&]() -> Result<void> {
    const auto removed = (*calls)->call(ask_change(removals), until, nullptr);
    if (!removed) return removed.error();
    if (removed->code == Code::kOk) return {};
    return Error{ErrorCode::kLost, "it was deleted on " + ensemble.store()};
  };
  if (checked) checked = insist_gone((*calls)->clock(), until, kRemoveAgain, false, remove, [] { return false; });
  if (!checked && checked.error().code == ErrorCode::kDenied) checked = {};  // the owner of the session may end it
  (*calls)->session().close();                                               // with whatever is left
  return checked;
}

}  // namespace dlock::zookeeper
