// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/admin.h"

#include <algorithm>
#include <set>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/lock/standing_leases.h"
#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/lock/view.h"
#include "backends/zookeeper/rows/row_nodes.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lock_errors.h"
#include "lib/rows/row_memory.h"
#include "lib/stock/stock_rows.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWalkBudget = 60s;
constexpr Duration kSession = 10s;  ///< nothing of ours depends on it

/// The directory of the lock that this node shows to be in use; nullopt if it shows none. A semaphore has its leases,
/// and the gate before them, in folders below.
std::optional<std::string> lock_directory_of(Recipe recipe, const TreeNode& node) {
  if (recipe == Recipe::kSimple) return node.stat.ephemeral_owner != 0 ? std::optional(node.path) : std::nullopt;
  std::optional<NodeName> contender;
  for (const std::string& child : node.children) {
    if (!contender) contender = parse_node_name(child);
  }
  if (!contender) return std::nullopt;
  const bool is_counted = contender->family == Family::kLease && base_of(node.path) == "leases";
  return is_counted ? parent_of(node.path) : node.path;
}

/// A lease under which no command runs.
bool is_left(const ParticipantNode& holder) {
  return holder.opens && (holder.ours->left_to || !holder.participant.ran.empty());
}

/// Writes into the node of `holder`, if it is still as it was read.
Change writing(const ParticipantNode& holder, const std::string& data) {
  return set_node(holder.path, data, holder.stat.version);
}

using Id = std::pair<FencingToken, std::string>;
Id id_of(const Participant& one) { return {one.token, one.owner}; }
std::set<Id> ids_of(const std::vector<Participant>& all) {
  std::set<Id> ids;
  for (const Participant& one : all) ids.insert(id_of(one));
  return ids;
}

}  // namespace

Result<Calls*> ZookeeperAdmin::session(TimePoint until) {
  if (calls_) calls_->receive();
  if (!calls_ || calls_->state() == SessionState::kExpired || calls_->is_shut_out()) {
    calls_.reset();
    TRY_ASSIGN(auto calls, ensemble_.connect(kSession, until, nullptr));
    calls_ = std::move(calls);
  }
  return calls_.get();
}

template <typename Read>
std::invoke_result_t<Read, Calls&> ZookeeperAdmin::in_session(TimePoint until, const Read& read) {
  while (true) {
    TRY_ASSIGN(const auto calls, session(until));
    auto answer = read(*calls);
    if (answer || calls_->state() != SessionState::kExpired) return answer;
    if (runtime_.clock.now() + kAskAgainPause >= until) return ends_every_session(store());
    runtime_.clock.sleep_until(runtime_.clock.now() + kAskAgainPause);
  }
}

/// A server that is out of reach is not asked for as long as a walk may take.
Result<Calls*> ZookeeperAdmin::reached_session() {
  const auto asked = in_session(soon(), [&](Calls& calls) { return calls.call_until(ask_stat("/"), soon(), nullptr); });
  if (!asked && asked.error().code != ErrorCode::kDenied) return asked.error();
  return calls_.get();
}

Result<std::vector<ParticipantNode>> ZookeeperAdmin::present_at(const LockName& name, TimePoint until) {
  TRY_ASSIGN(const auto directory, directory_of(ensemble_.root(), name));
  return in_session(until, [&](Calls& calls) {
    return read_present(calls, ensemble_.recipe(), directory, kMostListed, clock_, until, nullptr);
  });
}

Result<LockState> ZookeeperAdmin::inspect(const LockName& name) {
  TRY_ASSIGN(const auto present, present_at(name, soon()));
  return shown(name, present, soon());
}

LockState ZookeeperAdmin::shown(const LockName& name, const std::vector<ParticipantNode>& present, TimePoint until) {
  LockState state = state_of(name, store(), present);
  clock_.move_to_ours(state, *calls_, until, nullptr);
  return state;
}

/// A node that is closed to us in a folder of locks is a lock, for all we know; at the root of an ensemble it is other
/// programs'.
Result<KnownLocks> ZookeeperAdmin::known_locks() {
  TRY(reached_session());
  const auto tree = in_session(
      soon(), [&](Calls& calls) { return walk(calls, ensemble_.root(), runtime_.clock.now() + kWalkBudget); });
  if (!tree) return tree.error();
  KnownLocks known;
  std::set<std::string> semaphores;
  for (const TreeNode& node : *tree) {
    if (base_of(node.path) == "leases") semaphores.insert(parent_of(node.path));
  }
  for (const TreeNode& node : *tree) {
    if (base_of(node.path) == "locks" && semaphores.contains(parent_of(node.path))) continue;  // the gate
    const auto directory = node.closed ? std::optional(node.path) : lock_directory_of(ensemble_.recipe(), node);
    const auto name = directory ? name_of_directory(ensemble_.root(), *directory) : std::nullopt;
    if (!name) continue;
    if (!node.closed) known.names.push_back(*name);
    else if (!ensemble_.root().empty()) known.unreadable.push_back({name->text(), *node.closed});
  }
  return known;
}

/// One transaction, with a lease in each place for as long as its lock-delay wants, unless that alone was `shown`.
Result<void> ZookeeperAdmin::free(const std::vector<ParticipantNode>& holders, const LockState& shown,
                                  TimePoint until) {
  const Error changed{ErrorCode::kConflict, "the holders have changed; nothing was freed"};
  std::vector<Change> changes;
  for (const ParticipantNode& holder : holders) {
    changes.push_back(delete_node(holder.path));
    if (ensemble_.recipe() == Recipe::kSimple) {
      TRY_ASSIGN(const auto version, stamp_one_node(*calls_, holder.path, holder.stat.czxid, until));
      if (!version) return changed;
      changes.back().version = *version;
    }
    if (!holder.ours || holder.ours->lock_delay <= Duration(0)) continue;
    const bool ends = std::any_of(shown.holders.begin(), shown.holders.end(), [&](const Participant& one) {
      return is_delay(one.standing) && id_of(one) == id_of(holder.participant);
    });
    if (ends) continue;
    HolderRecord delay = *holder.ours;
    delay.owner = std::string(delay.owner.size(), '0');
    delay.pid = 0;
    delay.lasts = Duration(0);
    delay.token = holder.participant.token;
    changes.push_back(create_node(parent_of(holder.path) + "/" + lease_name(base_of(holder.path)), encode(delay)));
  }
  TRY_ASSIGN(const auto done, calls_->call(ask_change(changes), until, nullptr));
  if (done.code == Code::kOk) return {};
  if (done.code == Code::kNotEmpty) {
    return Error{ErrorCode::kUnsupported, "one of these nodes has nodes below it; nothing was freed",
                 "delete it by hand if nothing uses the nodes below it, or choose another key"};
  }
  return changed;
}

Result<ForceReleased> ZookeeperAdmin::force_release(const LockName& name, const LockState& shown,
                                                    const std::string& /*by*/) {
  const TimePoint until = soon();
  TRY_ASSIGN(auto present, present_at(name, until));
  std::erase_if(present, [](const ParticipantNode& one) { return !one.holds; });
  if (present.empty() && shown.holders.empty()) return ForceReleased{};
  std::set<Id> now;
  for (const ParticipantNode& one : present) now.insert(id_of(one.participant));
  if (now != ids_of(shown.holders)) return other_holders(name);
  TRY(free(present, shown, until));
  return ForceReleased{shown.holders};
}

Result<void> ZookeeperAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  const TimePoint until = soon();
  TRY_ASSIGN(const auto present, present_at(name, until));
  Result<void> asked = other_holders(name);
  for (const ParticipantNode& holder : present) {
    if (!holder.holds || !ids_of(shown.holders).contains(id_of(holder.participant))) continue;
    const bool curators = std::string_view(holder.kind).starts_with("Curator");
    if (!holder.ours && !curators) return cannot_be_asked(name, "it is a " + std::string(holder.kind));
    HolderRecord data = holder.ours.value_or(HolderRecord());
    data.revoked = data.revoked.empty() ? by : data.revoked;
    TRY_ASSIGN(const auto told,
               calls_->call(ask_change({writing(holder, holder.ours ? encode(data) : "__REVOKE__")}), until, nullptr));
    if (told.code == Code::kOk) asked = {};
    if (told.code == Code::kBadVersion) return revoke(name, shown, by);  // its node has changed since
  }
  return asked;
}

Result<ParticipantNode> ZookeeperAdmin::lease_of(const LockName& name, const Owner& owner, TimePoint until) {
  TRY_ASSIGN(auto present, present_at(name, until));
  for (ParticipantNode& one : present) {
    if (!one.holds || one.participant.owner != owner.text() || !is_hold(one.participant.standing)) continue;
    if (is_left(one)) return std::move(one);
    return Error{ErrorCode::kUnsupported,
                 name.text() + " is held by a process (pid " + std::to_string(one.participant.pid) + " on " +
                     one.participant.host + "), not by a lease",
                 "end that process, or: dlock force-release " + name.typed()};
  }
  return not_held(name);
}

Result<HeldLock> ZookeeperAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  const TimePoint until = soon();
  TRY_ASSIGN(const auto lease, lease_of(name, owner, until));
  TRY(renew_lease(*calls_, lease.path, owner, ttl, until));
  return HeldLock{name, owner, lease.participant.token, store()};
}

Result<void> ZookeeperAdmin::release(const LockName& name, const Owner& owner) {
  const TimePoint until = soon();
  TRY_ASSIGN(const auto lease, lease_of(name, owner, until));
  return release_lease(*calls_, lease.path, owner, until);
}

/// nullopt: it is no lease that is over.
Result<std::optional<Swept>> ZookeeperAdmin::sweep_lease(const std::string& path, bool dry_run, TimePoint until) {
  TRY_ASSIGN(const auto node, calls_->call_until(ask_data(path), until, nullptr));
  const auto lease = node.code == Code::kOk ? lease_in(node.stat, node.data) : std::nullopt;
  if (!lease || end_of_delay(*lease, node.stat) >= clock_.now(*calls_, until, nullptr)) return std::optional<Swept>();
  if (!dry_run) {
    TRY_ASSIGN(const auto left, remove_if_over(*calls_, path, clock_, until, nullptr));
    if (left) return std::optional<Swept>();
  }
  const bool is_counted = base_of(parent_of(path)) == "leases";
  const auto name = name_of_directory(ensemble_.root(), is_counted ? parent_of(parent_of(path)) : parent_of(path));
  return name ? std::optional(Swept{*name, "a lease that has ended"}) : std::nullopt;
}

/// Only directories that dlock has made: what others made may mean something to them while it is empty. Deepest first,
/// so that those above become empty.
Result<std::vector<Swept>> ZookeeperAdmin::collect_garbage(bool dry_run) {
  const TimePoint until = runtime_.clock.now() + kWalkBudget;
  TRY_ASSIGN(const auto calls, reached_session());
  TRY_ASSIGN(auto tree, walk(*calls, ensemble_.root(), until));
  std::vector<Swept> swept;
  std::set<std::string> gone;
  for (auto node = tree.rbegin(); node != tree.rend(); ++node) {
    for (const std::string& child : node->children) {
      const auto parsed = parse_node_name(child);
      if (!parsed || !parsed->is_lease) continue;
      auto lease = sweep_lease(node->path + "/" + child, dry_run, until);
      if (!lease && lease.error().code == ErrorCode::kDenied) continue;  // another user's
      if (!lease) return lease.error();
      if (!*lease) continue;
      gone.insert(node->path + "/" + child);
      swept.push_back(std::move(**lease));
    }
    const auto name = name_of_directory(ensemble_.root(), node->path);
    const bool is_empty = std::all_of(node->children.begin(), node->children.end(), [&](const std::string& child) {
      return gone.contains(node->path + "/" + child);
    });
    if (!name || !is_empty || node->closed || node->stat.ephemeral_owner != 0) continue;
    const auto data = calls->call_until(ask_data(node->path), until, nullptr);
    if (!data) return data.error();
    if (data->code != Code::kOk || data->data != kDirectoryData) continue;
    if (!dry_run) {
      const Change removal = delete_node(node->path);
      TRY_ASSIGN(const auto removed, calls->call(ask_change({removal}), until, nullptr));
      if (removed.code != Code::kOk) continue;  // it is in use again
    }
    gone.insert(node->path);
    swept.push_back({*name, "an empty lock directory"});
  }
  RowSession rows(ensemble_, runtime_);
  for (const RowSpace& space : {kStockSpace, kKeySpace}) {
    TRY_ASSIGN(auto left, sweep_rows(rows, space, dry_run, {until}));
    std::move(left.begin(), left.end(), std::back_inserter(swept));
  }
  return swept;
}

std::vector<Finding> ZookeeperAdmin::diagnose() {
  std::vector<Finding> findings = diagnose_ensemble(ensemble_, runtime_);
  if (findings.back().verdict == Finding::Verdict::kFail) return findings;
  RowSession stocks(ensemble_, runtime_);
  for (Finding& one : diagnose_rows(stocks, kStockSpace, {soon()})) findings.push_back(std::move(one));
  return findings;
}

Result<AdminCommon::Release> ZookeeperAdmin::take_for_ping(const LockName& name) {
  const TimePoint until = soon();
  calls_.reset();
  TRY_ASSIGN(const auto calls, session(until));
  const QueueDirectory queue{ensemble_.root(), Rule::kOneNode, {}, 0, base_of(own_directory("", name.text()))};
  const auto contender = std::make_shared<ContenderStore>(*calls, queue, "dlock");
  TRY(contender->enter(until, nullptr));
  return Release([contender, until] { return contender->remove(until); });
}

}  // namespace dlock::zookeeper
