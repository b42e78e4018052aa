// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/pinned_view.h"

#include "backends/mysql/common_statements.h"
#include "backends/mysql/sql_text.h"
#include "lib/base/entropy.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPause = 10ms;

Party party_of(const LeaseHolder& holder) {
  Party party;
  party.owner = holder.owner;
  party.token = FencingToken(holder.token);
  party.since = WallTime(std::chrono::microseconds(holder.since));
  add_who(party, holder.who);
  return party;
}

/// Somebody who takes the same lock without dlock.
Party stranger(std::uint64_t session) {
  Party party;
  if (session != 0) party.owner = "connection " + std::to_string(session);
  party.note = "another program";
  return party;
}

}  // namespace

bool is_live_session(Servers& servers, std::uint64_t id, Clock& clock, TimePoint until) {
  const auto found = run_statement(
      servers, "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID=" + std::to_string(id), clock, until);
  return found && !found->rows.empty();
}

Result<std::optional<Party>> PinnedView::present_holder(const LockName& name, std::uint64_t* session) {
  LeaseStore record(servers_, runtime_.clock, settings_.strategy, name);
  Grip grip(settings_, name, runtime_.clock);
  const auto holder = grip.holder(servers_, soon());
  if (!holder) return holder.error();
  const auto look = record.look(false, soon(), nullptr);
  if (!look) return look.error();
  if (*holder == std::uint64_t{0}) return std::optional<Party>();
  for (const LeaseHolder& one : look->row.holders) {
    const bool lives = holder->has_value() ? **holder == one.connection
                                           : is_live_session(servers_, one.connection, runtime_.clock, soon());
    if (!lives) continue;
    *session = one.connection;
    return std::optional(party_of(one));
  }
  *session = holder->value_or(0);
  return std::optional(stranger(*session));
}

Result<LockState> PinnedView::inspect(const LockName& name) {
  std::uint64_t session = 0;
  auto holder = present_holder(name, &session);
  if (!holder) return holder.error();
  LockState state{name, settings_.store, Mode::kExclusive, 0, {}, {}};
  if (*holder) state.holders.push_back(std::move(**holder));
  auto waiters = LeaseStore::waiters(*servers_.current(), runtime_.clock, settings_.strategy, name, servers_.server(),
                                     soon(), nullptr);
  if (!waiters) return waiters.error();
  state.waiters = std::move(*waiters);
  return state;
}

Result<std::vector<LockName>> PinnedView::names() {
  return live_names(servers_, settings_.strategy, runtime_.clock, soon());
}

/// Ends the session that holds it; the server frees what it held.
Result<ForceReleased> PinnedView::force_release(const LockName& name, const LockState& shown) {
  std::uint64_t session = 0;
  const auto holder = present_holder(name, &session);
  if (!holder) return holder.error();
  if (!*holder && shown.holders.empty()) return ForceReleased{};
  const bool same = *holder && shown.holders.size() == 1 && (*holder)->owner == shown.holders[0].owner &&
                    (*holder)->token == shown.holders[0].token;
  if (!same) return Error{ErrorCode::kConflict, name.text() + " has another holder by now; nothing was freed"};
  if (session == 0) {
    return Error{ErrorCode::kUnsupported, "the server does not tell which session holds " + name.text(),
                 "find it with SHOW ENGINE INNODB STATUS, and end it with KILL"};
  }
  const TimePoint until = soon();
  auto killed = run_statement(servers_, "KILL " + std::to_string(session), runtime_.clock, until);
  if (!killed && killed.error().code == ErrorCode::kDenied) {
    return Error{ErrorCode::kDenied,
                 "only the account that holds " + name.text() + " may end its session " + std::to_string(session) +
                     ", or one with the right CONNECTION ADMIN",
                 "ask an administrator for: KILL " + std::to_string(session)};
  }
  while (is_live_session(servers_, session, runtime_.clock, until) && runtime_.clock.now() < until) {
    std::vector<pollfd> nothing;
    runtime_.clock.wait(nothing, runtime_.clock.now() + kPause);
  }
  return ForceReleased{shown.holders};
}

Error PinnedView::needs_connection() const {
  return {ErrorCode::kUnsupported,
          "a lock of strategy=" + std::string(strategy_name(settings_.strategy)) + " lives with its connection",
          "use strategy=lease for locks without a process"};
}

Result<HeldLock> PinnedView::renew(const LockName& /*name*/, const Owner& /*owner*/, Duration /*ttl*/) {
  return needs_connection();
}

Result<void> PinnedView::release(const LockName& /*name*/, const Owner& /*owner*/) { return needs_connection(); }

/// Records of sessions that have ended; the lock itself went with them.
Result<std::vector<Swept>> PinnedView::sweep(bool dry_run) {
  const auto live = names();
  if (!live) return live.error();
  std::vector<Swept> swept;
  for (const LockName& name : *live) {
    LeaseStore record(servers_, runtime_.clock, settings_.strategy, name);
    const auto look = record.look(false, soon(), nullptr);
    if (!look) return look.error();
    std::uint64_t session = 0;
    const auto holder = present_holder(name, &session);
    if (!holder) return holder.error();
    if (*holder || look->row.holders.empty()) continue;
    if (!dry_run) {
      LeaseRow next = look->row;
      next.holders.clear();
      const auto written = record.change(look->row, next, soon(), nullptr);
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

Result<Duration> PinnedView::ping() {
  const auto name = LockName::parse("dlock-ping-" + random_hex(8));
  if (!name) return name.error();
  Settings own = settings_;
  own.row.reset();  // never a row of the user's
  Grip grip(own, *name, runtime_.clock);
  const auto database = servers_.connect(soon(), nullptr);
  if (!database) return database.error();
  const std::string server = servers_.server();
  if (const auto fit = grip.prepare(**database, server, 1, soon(), nullptr); !fit) return fit.error();
  const TimePoint before = runtime_.clock.now();
  if (const auto got = grip.try_it(**database, server, soon(), nullptr); !got) return got.error();
  if (const auto ended = grip.let_go(**database, server, soon()); !ended) return ended.error();
  const Duration took = runtime_.clock.now() - before;
  if (own.strategy == Strategy::kRow) {
    (void)run_statement(servers_, "DELETE FROM dlock_row WHERE name=" + literal(name->text()), runtime_.clock, soon());
  }
  return took;
}

}  // namespace dlock::mysql
