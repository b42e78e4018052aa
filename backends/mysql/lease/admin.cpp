// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/admin.h"

#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

}  // namespace

Result<std::optional<LeaseStore::Rewritten>> LeaseAdmin::rewrite(const LockName& name, const LeaseStore::Rewrite& make,
                                                                 bool* unanswered) {
  return LeaseStore(servers_, Strategy::kLease, name).rewrite(make, soon(), unanswered);
}

Result<KnownLocks> LeaseAdmin::known_locks() {
  TRY_ASSIGN(auto names, live_names(servers_, Strategy::kLease, soon()));
  return KnownLocks{std::move(names)};
}

Result<LockState> LeaseAdmin::inspect(const LockName& name) {
  LeaseStore lock(servers_, Strategy::kLease, name, LeaseStore::From::kAny);
  const WallTime asked = runtime_.clock.wall();
  TRY_ASSIGN(const auto reading, lock.read(false, soon(), nullptr));
  const WallTime answered = runtime_.clock.wall();
  TRY_ASSIGN(auto waiters,
             reading.galera ? lock.queued(soon()) : waiters_of(servers_, Strategy::kLease, name, soon(), nullptr));
  return shown(name, reading, std::move(waiters), asked, answered);
}

LockState LeaseAdmin::shown(const LockName& name, const LeaseReading& reading, std::vector<Participant> waiters,
                            WallTime asked, WallTime answered) const {
  LockState state = state_of(reading.row, name, store(), reading.now);
  list_waiters(state, std::move(waiters));
  move_to_our_clock(state, wall_time(reading.now), asked, answered);
  state.ever_taken = reading.row.version != 0 || !state.waiters.empty();
  state.forgets = true;
  return state;
}

/// Two statements for all of them. What has no row, and on Galera no process list for its waiters, is asked for alone.
std::vector<Result<LockState>> LeaseAdmin::inspect_some(std::span<const LockName> names) {
  const WallTime asked = runtime_.clock.wall();
  const auto readings = LeaseStore::read_some(servers_, Strategy::kLease, names, soon());
  if (!readings) return {readings.error()};
  const WallTime answered = runtime_.clock.wall();
  auto waiting = all_waiters(servers_, Strategy::kLease, soon());
  if (!waiting) return {waiting.error()};
  std::vector<Result<LockState>> states;
  for (const LockName& name : names) {
    const auto found = readings->find(name.text());
    const bool alone = found == readings->end() || (found->second && found->second->galera);
    if (alone) states.push_back(inspect(name));
    else if (!found->second) states.push_back(found->second.error());
    else states.push_back(shown(name, *found->second, std::move((*waiting)[name.text()]), asked, answered));
    if (!states.back() && !is_of_one_lock(states.back().error())) break;
  }
  return states;
}

/// Whether the session that the row names is the holder's still: ids begin again with the server, and another server
/// has others of its own. An exclusive holder has the gate; of the others only a restart can be seen.
bool LeaseAdmin::is_its_session(const LockName& name, Mode mode, const LeaseHolder& holder, ServerTime now) {
  if (holder.connection == 0) return false;
  if (mode == Mode::kExclusive) {
    const std::string gate = named_lock(strategy_name(Strategy::kLease), name);
    const auto has_gate =
        run("SELECT 1 FROM DUAL WHERE IS_USED_LOCK(" + gate + ")=" + std::to_string(holder.connection));
    return has_gate && !has_gate->rows.empty();
  }
  const auto uptime = run("SHOW GLOBAL STATUS LIKE 'Uptime'");
  if (!uptime || uptime->rows.empty() || uptime->rows[0].size() < 2) return false;
  const auto seconds = leading_number<std::int64_t>(uptime->rows[0][1].value_or("0"));
  // Uptime is the difference of two whole seconds: the server may have started up to a second later.
  return now - whole_micros(std::chrono::seconds(seconds - 1)) < holder.since;
}

/// A holder looks at its row when its connection ends. So it learns of the force-release at once, where this account
/// may end its connection.
void LeaseAdmin::tell_by_kill(const LockName& name, const LeaseRow& row, ServerTime now) {
  for (const LeaseHolder& holder : row.holders) {
    if (is_its_session(name, row.mode, holder, now)) (void)run("KILL " + std::to_string(holder.connection));
  }
}

Result<ForceReleased> LeaseAdmin::force_release(const LockName& name, const LockState& shown,
                                                const std::string& /*by*/) {
  bool unanswered = false;
  const auto freed = rewrite(
      name, [&](const LeaseRow& row, ServerTime now) { return force_free(row, shown, now); }, &unanswered);
  if (!freed) return freed.error();
  if (!*freed && !unanswered) return other_holders(name);
  if (*freed) tell_by_kill(name, (*freed)->before, (*freed)->now);
  return ForceReleased{shown.holders};
}

Result<void> LeaseAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  bool unanswered = false;
  const auto told = rewrite(
      name, [&](const LeaseRow& row, ServerTime /*now*/) { return ask_back(row, shown, by); }, &unanswered);
  if (!told) return told.error();
  if (!*told) return unanswered ? Result<void>() : other_holders(name);
  LeaseRow asked = (*told)->before;
  std::erase_if(asked.holders, [&](const LeaseHolder& one) {
    return revocation_of(find_holder((*told)->after, one.owner)->who).empty();
  });
  tell_by_kill(name, asked, (*told)->now);
  return {};
}

Result<HeldLock> LeaseAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  const auto renewed =
      rewrite(name, [&](const LeaseRow& row, ServerTime now) { return extend(row, owner.text(), ttl, true, now); });
  if (!renewed) return renewed.error();
  if (!*renewed) return not_held(name);
  return HeldLock{name, owner, FencingToken(find_holder((*renewed)->after, owner.text())->token), store()};
}

Result<void> LeaseAdmin::release(const LockName& name, const Owner& owner) {
  bool unanswered = false;
  const auto released = rewrite(
      name, [&](const LeaseRow& row, ServerTime now) { return give_back(row, owner.text(), nullptr, now); },
      &unanswered);
  if (!released) return released.error();
  if (!*released && !unanswered) return not_held(name);
  if (*released) {
    // Of a watched process: its keeper has the gate, and would keep it until it renews.
    LeaseRow its = (*released)->before;
    std::erase_if(its.holders, [&](const LeaseHolder& one) { return one.owner != owner.text(); });
    tell_by_kill(name, its, (*released)->now);
  }
  return {};
}

Result<std::vector<Swept>> LeaseAdmin::sweep(bool dry_run) {
  TRY_ASSIGN(const auto ended,
             names_where(servers_, Strategy::kLease, "holds>0 AND expires<=UTC_TIMESTAMP(6)", soon()));
  std::vector<Swept> swept;
  for (const LockName& name : ended) {
    if (!dry_run) {
      const auto done = rewrite(name, [](const LeaseRow& row, ServerTime now) { return mysql::sweep(row, now); });
      if (!done) return done.error();
      if (!*done) continue;
    }
    swept.push_back({name, "a lease that ended without a release"});
  }
  return swept;
}

Result<AdminCommon::Release> LeaseAdmin::take_for_ping(const LockName& name) {
  const Owner owner = Owner::random();
  const LeaseAsk ask{.owner = owner, .ttl = 10s, .who = who_text("ping")};
  const auto take = [&](const LeaseRow& row, ServerTime now) {
    auto decision = try_take(row, ask, now);
    auto* taken = std::get_if<LeaseTake>(&decision);
    return taken ? std::optional(std::move(taken->next)) : std::nullopt;
  };
  TRY(rewrite(name, take));
  return Release([this, name, owner] { return release(name, owner); });
}

void LeaseAdmin::forget_ping(const LockName& name) {
  (void)run("DELETE FROM " + std::string(kLockTable) + " WHERE strategy='lease' AND name=" + literal(name.text()));
}

}  // namespace dlock::mysql
