// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/view.h"

#include "backends/mysql/connection/ask.h"
#include "backends/mysql/connection/common_statements.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr char kForcedRows[] = "forced";  ///< name: the owner; holders: who has freed it, and why
constexpr Duration kViewRetryPause = 40ms;

}  // namespace

std::string freed_by(Servers& servers, const std::string& owner, Clock& clock, TimePoint until, Control* control) {
  const auto answer = run_statement(servers,
                                    "SELECT holders FROM " + std::string(kLockTable) +
                                        " WHERE strategy=" + literal(kForcedRows) + " AND name=" + literal(owner),
                                    clock, until, control);
  if (!answer || answer->rows.empty() || answer->rows.front().empty()) return {};
  return answer->rows.front().front().value_or("");
}

TimePoint LeaseView::soon() const { return runtime_.clock.now() + budget_; }

template <typename Make>
Result<std::optional<LeaseView::Change>> LeaseView::rewrite(const LockName& name, Make make, bool* unanswered) {
  LeaseStore store(servers_, runtime_.clock, Strategy::kLease, name);
  const TimePoint until = soon();
  const auto attempt = [&]() -> Result<std::optional<Change>> {
    while (true) {
      const auto reading = store.read(false, until, nullptr);
      if (!reading) return reading.error();
      std::optional<LeaseRow> next = make(reading->row, reading->now);
      if (!next) return std::optional<Change>();
      const auto written = store.change(reading->row, *next, until, nullptr);
      if (!written) {
        *unanswered = *unanswered || written.error().code == ErrorCode::kUnavailable;
        return written.error();
      }
      if (*written == Written::kYes) return std::optional(Change{reading->row, std::move(*next)});
    }
  };
  return insist(runtime_.clock, until, kViewRetryPause, attempt).answer;
}

Result<LockState> LeaseView::inspect(const LockName& name) {
  LeaseStore store(servers_, runtime_.clock, Strategy::kLease, name, LeaseStore::From::kAny);
  const WallTime asked = runtime_.clock.wall();
  const auto reading = store.read(false, soon(), nullptr);
  if (!reading) return reading.error();
  const WallTime answered = runtime_.clock.wall();
  auto waiters = reading->galera ? store.queued(soon())
                                 : LeaseStore::waiters(*servers_.current(), runtime_.clock, Strategy::kLease, name,
                                                       servers_.server(), soon(), nullptr);
  if (!waiters) return waiters.error();
  return shown(name, *reading, std::move(*waiters), asked, answered);
}

LockState LeaseView::shown(const LockName& name, const LeaseReading& reading, std::vector<Participant> waiters,
                           WallTime asked, WallTime answered) const {
  LockState state = state_of(reading.row, name, store_, reading.now);
  list_waiters(state, std::move(waiters));
  move_to_our_clock(state, wall_time(reading.now), asked, answered);
  state.ever_taken = reading.row.version != 0 || !state.waiters.empty();
  state.forgets = true;
  return state;
}

/// Two statements for all of them. What has no row, and on Galera no process list for its waiters, is asked for alone.
std::vector<Result<LockState>> LeaseView::inspect_some(std::span<const LockName> names) {
  const WallTime asked = runtime_.clock.wall();
  const auto readings = LeaseStore::read_some(servers_, runtime_.clock, Strategy::kLease, names, soon());
  if (!readings) return {readings.error()};
  const WallTime answered = runtime_.clock.wall();
  auto waiting = LeaseStore::all_waiters(servers_, runtime_.clock, Strategy::kLease, soon());
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

/// In a row of each holder, for an hour: what does not come through leaves the loser without the reason.
void LeaseView::tell_who_frees(const LeaseRow& row, const std::string& by) {
  const std::string table(kLockTable);
  const std::string forced = "strategy=" + literal(kForcedRows);
  for (const LeaseHolder& holder : row.holders) {
    (void)run_statement(
        servers_,
        "INSERT IGNORE INTO " + table + " SET " + forced + ",name=" + literal(holder.owner) +
            ",version=1,fence=0,mode='x',permits=0,holds=0,expires=NOW(6)+INTERVAL 1 HOUR,holders=" + literal(by),
        runtime_.clock, soon());
  }
  (void)run_statement(servers_, "DELETE FROM " + table + " WHERE " + forced + " AND expires<NOW(6)", runtime_.clock,
                      soon());
}

/// Whether the session that the row names is the holder's still: ids begin anew with the server, and another server has
/// others of its own. An exclusive holder has the gate; of the others only a restart can be seen.
bool LeaseView::is_its_session(const LockName& name, Mode mode, const LeaseHolder& holder, ServerTime now) {
  if (holder.connection == 0) return false;
  if (mode == Mode::kExclusive) {
    const std::string gate = named_lock(strategy_name(Strategy::kLease), name);
    const auto has_gate = run_statement(
        servers_, "SELECT 1 FROM DUAL WHERE IS_USED_LOCK(" + gate + ")=" + std::to_string(holder.connection),
        runtime_.clock, soon());
    return has_gate && !has_gate->rows.empty();
  }
  const auto uptime = run_statement(servers_, "SHOW GLOBAL STATUS LIKE 'Uptime'", runtime_.clock, soon());
  if (!uptime || uptime->rows.empty() || uptime->rows[0].size() < 2) return false;
  const auto seconds = leading_number<std::int64_t>(uptime->rows[0][1].value_or("0"));
  // Uptime is the difference of two whole seconds: the server may have started up to a second later.
  return now - whole_micros(std::chrono::seconds(seconds - 1)) < holder.since;
}

/// A holder looks at its row when its connection ends. So it learns of the force-release at once, where this account
/// may end its connection.
void LeaseView::tell_by_kill(const LockName& name, const LeaseRow& row, ServerTime now) {
  for (const LeaseHolder& holder : row.holders) {
    if (is_its_session(name, row.mode, holder, now))
      (void)run_statement(servers_, "KILL " + std::to_string(holder.connection), runtime_.clock, soon());
  }
}

Result<ForceReleased> LeaseView::force_release(const LockName& name, const LockState& shown, const std::string& by) {
  bool unanswered = false;
  ServerTime looked = 0;
  const auto freed = rewrite(
      name,
      [&](const LeaseRow& row, ServerTime now) {
        looked = now;
        return force_free(row, shown, now);
      },
      &unanswered);
  if (!freed) return freed.error();
  if (!*freed && !unanswered) return other_holders(name);
  if (*freed) {
    if (!by.empty()) tell_who_frees((*freed)->before, by);
    tell_by_kill(name, (*freed)->before, looked);
  }
  return ForceReleased{shown.holders};
}

/// A holder reads its row when its connection ends, and at its next renewal.
Result<void> LeaseView::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  bool unanswered = false;
  ServerTime looked = 0;
  const auto told = rewrite(
      name,
      [&](const LeaseRow& row, ServerTime now) {
        looked = now;
        return ask_back(row, shown, by);
      },
      &unanswered);
  if (!told) return told.error();
  if (!*told) return unanswered ? Result<void>() : other_holders(name);
  LeaseRow asked = (*told)->before;
  std::erase_if(asked.holders, [&](const LeaseHolder& one) {
    return revocation_of(find_holder((*told)->after, one.owner)->who).empty();
  });
  tell_by_kill(name, asked, looked);
  return {};
}

Result<HeldLock> LeaseView::renew(const LockName& name, const Owner& owner, Duration ttl) {
  bool unanswered = false;
  const auto renewed = rewrite(
      name, [&](const LeaseRow& row, ServerTime now) { return extend(row, owner.text(), ttl, true, now); },
      &unanswered);
  if (!renewed) return renewed.error();
  if (!*renewed) return not_held(name, store_);
  return HeldLock{name, owner, FencingToken(find_holder((*renewed)->after, owner.text())->token), store_};
}

Result<void> LeaseView::release(const LockName& name, const Owner& owner) {
  bool unanswered = false;
  const auto released = rewrite(
      name, [&](const LeaseRow& row, ServerTime now) { return give_back(row, owner.text(), nullptr, now); },
      &unanswered);
  if (!released) return released.error();
  if (*released || unanswered) return {};
  return not_held(name, store_);
}

Result<std::vector<LockName>> LeaseView::names() {
  return live_names(servers_, Strategy::kLease, runtime_.clock, soon());
}

Result<std::vector<Swept>> LeaseView::sweep(bool dry_run) {
  const auto ended = ended_names(servers_, Strategy::kLease, runtime_.clock, soon());
  if (!ended) return ended.error();
  std::vector<Swept> swept;
  for (const LockName& name : *ended) {
    bool unanswered = false;
    if (!dry_run) {
      const auto done = rewrite(
          name, [](const LeaseRow& row, ServerTime now) { return mysql::sweep(row, now); }, &unanswered);
      if (!done) return done.error();
      if (!*done) continue;
    }
    swept.push_back({name, "a lease that ended without a release"});
  }
  auto rows = sweep_rows(servers_, Strategy::kLease, dry_run, runtime_.clock, soon());
  if (!rows) return rows.error();
  swept.insert(swept.end(), rows->begin(), rows->end());
  return swept;
}

Result<AdminCommon::GiveBack> LeaseView::take_for_ping(const LockName& name) {
  const Owner owner = Owner::random();
  const LeaseAsk ask{.owner = owner, .ttl = 10s, .ancestor = {}, .who = who_text("ping")};
  const auto take = [&](const LeaseRow& row, ServerTime now) {
    auto decision = try_take(row, ask, now);
    auto* taken = std::get_if<LeaseTake>(&decision);
    return taken ? std::optional(std::move(taken->next)) : std::nullopt;
  };
  bool unanswered = false;
  if (const auto taken = rewrite(name, take, &unanswered); !taken) return taken.error();
  return AdminCommon::GiveBack([this, name, owner] { return release(name, owner); });
}

void LeaseView::forget_ping(const LockName& name) {
  (void)run_statement(
      servers_, "DELETE FROM " + std::string(kLockTable) + " WHERE strategy='lease' AND name=" + literal(name.text()),
      runtime_.clock, soon());
}

}  // namespace dlock::mysql
