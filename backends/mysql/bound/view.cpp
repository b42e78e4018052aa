// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/view.h"

#include <algorithm>
#include <memory>

#include "backends/mysql/connection/common_statements.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPause = 10ms;

Participant participant_of(const LeaseHolder& holder) {
  Participant participant;
  participant.owner = holder.owner;
  participant.token = FencingToken(holder.token);
  participant.since = wall_time(holder.since);
  participant.count = std::max(1, static_cast<int>(holder.entries.size()));
  add_who(participant, holder.who);
  return participant;
}

/// Somebody who takes the same lock without dlock.
Participant stranger(const RowBlocker& known) {
  Participant participant;
  participant.note = "another program";
  if (known.session == 0) return participant;
  participant.owner = "connection " + std::to_string(known.session);
  participant.user = known.user;
  participant.host = known.host;
  if (!known.user.empty() || !known.host.empty()) participant.note += ", " + participant.owner;
  if (known.since) participant.since = wall_time(*known.since);
  return participant;
}

/// Whose session it is, where this account may see that.
void add_account(Servers& servers, RowBlocker& known, Clock& clock, TimePoint until) {
  const auto found = run_statement(
      servers, "SELECT USER,HOST FROM information_schema.PROCESSLIST WHERE ID=" + std::to_string(known.session), clock,
      until);
  if (!found || found->rows.size() != 1 || found->rows[0].size() != 2) return;
  known.user = found->rows[0][0].value_or("");
  known.host = found->rows[0][1].value_or("");
}

/// A transaction without a session: what XA has prepared is nobody's connection, and of shared locks MariaDB does not
/// tell whose they are.
Error without_session(const RowBlocker& known, const LockName& name) {
  if (known.since) {
    return {ErrorCode::kUnsupported, name.text() + " is held by a prepared XA transaction, which no session has",
            "look with XA RECOVER, and end it with XA COMMIT or XA ROLLBACK"};
  }
  return {ErrorCode::kUnsupported, "the server does not tell which session holds " + name.text(),
          "find it with SHOW ENGINE INNODB STATUS or SHOW PROCESSLIST, and end it with KILL"};
}

}  // namespace

Result<BoundView::Present> BoundView::present(const LockName& name, Strangers strangers) {
  LeaseStore record(servers_, runtime_.clock, settings_.strategy, name, LeaseStore::From::kAny);
  BoundStore store(settings_, name, runtime_.clock);
  const auto holder = store.holder(servers_, soon());
  if (!holder) return holder.error();
  const auto reading = record.read(false, soon(), nullptr);
  if (!reading) return reading.error();
  if (reading->galera) return of_one_node(servers_.server(), settings_.strategy);
  if (*holder == std::uint64_t{0}) return Present{{}, {}, {}, reading->now};
  for (const LeaseHolder& one : reading->row.holders) {
    const bool lives = holder->has_value() ? **holder == one.connection
                                           : is_live_session(servers_, one.connection, runtime_.clock, soon());
    if (lives) return Present{{participant_of(one)}, {one.connection}, {}, reading->now};
  }
  if (!*holder && strangers == Strangers::kSought) return blockers(name);
  RowBlocker known{holder->value_or(0), "", "", {}};
  if (*holder && strangers == Strangers::kSought) add_account(servers_, known, runtime_.clock, soon());
  Present present{{stranger(known)}, {known.session}, {}, reading->now};
  if (known.session == 0) present.hidden = without_session(known, name);
  return present;
}

/// A row is locked by a session that the server names only to who waits for it.
Result<BoundView::Present> BoundView::blockers(const LockName& name) {
  const BoundStore store(settings_, name, runtime_.clock);
  auto found = row_blockers(servers_, store.row_query(), runtime_.clock, soon());
  if (!found && found.error().code != ErrorCode::kDenied) return found.error();
  // Who had just got it may have written it down by now.
  LeaseStore record(servers_, runtime_.clock, settings_.strategy, name, LeaseStore::From::kAny);
  const auto reading = record.read(false, soon(), nullptr);
  if (!reading) return reading.error();
  const auto& known = reading->row.holders;
  Present present;
  present.now = reading->now;
  if (!found) present.hidden = found.error();
  if (!found || found->empty()) found = std::vector<RowBlocker>(1);
  for (const RowBlocker& one : *found) {
    const auto ours = std::find_if(known.begin(), known.end(), [&](const LeaseHolder& holder) {
      return one.session != 0 && holder.connection == one.session;
    });
    present.participants.push_back(ours == known.end() ? stranger(one) : participant_of(*ours));
    present.sessions.push_back(one.session);
    if (one.session == 0 && !present.hidden) present.hidden = without_session(one, name);
  }
  return present;
}

Result<LockState> BoundView::inspect(const LockName& name) {
  const WallTime asked = runtime_.clock.wall();
  auto holders = present(name, strangers_);
  if (!holders) return holders.error();
  const WallTime answered = runtime_.clock.wall();
  LockState state{name, settings_.store, Mode::kExclusive, 0, std::move(holders->participants), {}};
  auto waiters = LeaseStore::waiters(*servers_.current(), runtime_.clock, settings_.strategy, name, servers_.server(),
                                     soon(), nullptr);
  if (!waiters) return waiters.error();
  list_waiters(state, std::move(*waiters));
  move_to_our_clock(state, wall_time(holders->now), asked, answered);
  return state;
}

Result<std::vector<LockName>> BoundView::names() {
  return live_names(servers_, settings_.strategy, runtime_.clock, soon());
}

Result<void> BoundView::end_holder(const LockName& name, std::uint64_t session, TimePoint until) {
  const auto killed = run_statement(servers_, "KILL " + std::to_string(session), runtime_.clock, until);
  if (!killed && killed.error().code == ErrorCode::kDenied) {
    return Error{ErrorCode::kDenied,
                 "only the account that holds " + name.text() + " may end its session " + std::to_string(session) +
                     ", or one with the right CONNECTION ADMIN (MySQL: CONNECTION_ADMIN)",
                 "ask an administrator for: KILL " + std::to_string(session)};
  }
  while (is_live_session(servers_, session, runtime_.clock, until)) {
    if (runtime_.clock.now() >= until) {
      return Error{ErrorCode::kUnavailable, "the session " + std::to_string(session) + " does not end",
                   "look at it with SHOW PROCESSLIST"};
    }
    std::vector<pollfd> nothing;
    runtime_.clock.wait(nothing, runtime_.clock.now() + kPause);
  }
  return {};
}

/// Ends the sessions that hold it; the server frees what they held.
Result<ForceReleased> BoundView::force_release(const LockName& name, const LockState& shown,
                                               const std::string& /*by*/) {
  const auto holders = present(name, Strangers::kSought);
  if (!holders) return holders.error();
  if (holders->participants.empty() && shown.holders.empty()) return ForceReleased{};
  const auto same = [](const Participant& a, const Participant& b) { return a.owner == b.owner && a.token == b.token; };
  if (holders->participants.empty() || !std::is_permutation(holders->participants.begin(), holders->participants.end(),
                                                            shown.holders.begin(), shown.holders.end(), same)) {
    return Error{ErrorCode::kConflict, name.text() + " has another holder by now; nothing was freed"};
  }
  if (holders->hidden) return *holders->hidden;
  const TimePoint until = soon();
  for (const std::uint64_t session : holders->sessions) {
    if (auto ended = end_holder(name, session, until); !ended) return ended.error();
  }
  return ForceReleased{shown.holders};
}

/// In the record, which the holder reads in its pings: to end its connection would take the lock from it.
Result<void> BoundView::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  LeaseStore record(servers_, runtime_.clock, settings_.strategy, name);
  while (true) {
    const auto reading = record.read(false, soon(), nullptr);
    if (!reading) return reading.error();
    auto next = ask_back(reading->row, shown, by);
    const bool foreign = !shown.holders.empty() && shown.holders.front().token.is_none();
    if (!next) return foreign ? cannot_be_asked(name, "another program has it") : other_holders(name);
    const auto written = record.change(reading->row, *next, soon(), nullptr);
    if (!written) return written.error();
    if (*written == Written::kYes) return {};
  }
}

Error BoundView::needs_connection() const {
  return {ErrorCode::kUnsupported,
          "a lock of strategy=" + std::string(strategy_name(settings_.strategy)) + " lives with its connection",
          "use strategy=lease for locks without a process"};
}

Result<HeldLock> BoundView::renew(const LockName& /*name*/, const Owner& /*owner*/, Duration /*ttl*/) {
  return needs_connection();
}

Result<void> BoundView::release(const LockName& /*name*/, const Owner& /*owner*/) { return needs_connection(); }

/// Records of sessions that have ended; the lock itself went with them.
Result<std::vector<Swept>> BoundView::sweep(bool dry_run) {
  const auto live = names();
  if (!live) return live.error();
  std::vector<Swept> swept;
  for (const LockName& name : *live) {
    LeaseStore record(servers_, runtime_.clock, settings_.strategy, name);
    const auto reading = record.read(false, soon(), nullptr);
    if (!reading) return reading.error();
    const auto holders = present(name, Strangers::kUnnamed);
    if (!holders) return holders.error();
    if (!holders->participants.empty() || reading->row.holders.empty()) continue;
    if (!dry_run) {
      LeaseRow next = reading->row;
      next.holders.clear();
      const auto written = record.change(reading->row, next, soon(), nullptr);
      if (!written) return written.error();
      if (*written == Written::kNo) continue;
    }
    swept.push_back({name, "the record of a session that has ended"});
  }
  auto rows = sweep_rows(servers_, settings_.strategy, dry_run, runtime_.clock, soon());
  if (!rows) return rows.error();
  swept.insert(swept.end(), rows->begin(), rows->end());
  return swept;
}

Result<AdminCommon::GiveBack> BoundView::take_for_ping(const LockName& name) {
  Settings own = settings_;
  own.row.reset();  // never a row of the user's
  const auto store = std::make_shared<BoundStore>(own, name, runtime_.clock);
  const auto database = servers_.connect(soon(), nullptr);
  if (!database) return database.error();
  const std::string server = servers_.server();
  if (const auto fit = store->prepare(**database, server, 1, soon(), nullptr); !fit) return fit.error();
  if (const auto got = store->try_it(**database, server, soon(), nullptr); !got) return got.error();
  return AdminCommon::GiveBack(
      [this, store, held_in = *database, server] { return store->let_go(*held_in, server, soon()); });
}

void BoundView::forget_ping(const LockName& name) {
  if (settings_.strategy != Strategy::kRow) return;
  (void)run_statement(servers_, "DELETE FROM dlock_row WHERE name=" + literal(name.text()), runtime_.clock, soon());
}

}  // namespace dlock::mysql
