// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/admin.h"

#include <algorithm>
#include <memory>

#include "backends/mysql/connection/sql_text.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPause = 10ms;
/// Looks at a lock whose holder has no record: it is written after the grant, and erased before the end.
constexpr int kLooks = 8;

/// A program that takes the same lock without dlock. `id`: the server's of its connection; 0: not known.
Participant another_session(std::uint64_t id) {
  Participant participant;
  participant.note = "another session";
  if (id == 0) return participant;
  participant.owner = "connection " + std::to_string(id);
  participant.note += ", " + participant.owner;
  return participant;
}

bool has_stranger(const std::vector<Participant>& participants) {
  return std::any_of(participants.begin(), participants.end(), [](const auto& one) { return one.token.is_none(); });
}

}  // namespace

Result<BoundAdmin::HolderSession> BoundAdmin::holder_of(const LockName& name) {
  BoundStore store(settings_, name, servers_);
  TRY_ASSIGN(const auto holder, store.holder(soon()));
  TRY_ASSIGN(const auto reading, row(name).read(HolderRow::From::kAny, soon(), nullptr));
  if (reading.galera) return of_one_node(servers_.server(), settings_.strategy);
  if (holder == std::uint64_t{0}) return HolderSession{{}, 0, reading.now};
  const HolderRecord& one = reading.record;
  bool lives = holder == one.connection;
  if (!one.owner.empty() && !holder) {
    TRY_ASSIGN(lives, servers_.is_live_session(one.connection, soon()));
  }
  if (!one.owner.empty() && lives) return HolderSession{{participant_of(one)}, one.connection, reading.now};
  return HolderSession{{another_session(holder.value_or(0))}, holder.value_or(0), reading.now};
}

Result<LockState> BoundAdmin::inspect(const LockName& name) {
  const WallTime asked = runtime_.clock.wall();
  auto holders = holder_of(name);
  for (int look = 1; look < kLooks && holders && has_stranger(holders->participants); ++look) {
    runtime_.clock.sleep_until(runtime_.clock.now() + kPause);
    holders = holder_of(name);
  }
  if (!holders) return holders.error();
  const WallTime answered = runtime_.clock.wall();
  LockState state{name, settings_.store, Mode::kExclusive, 0, std::move(holders->participants), {}};
  TRY_ASSIGN(auto waiters, waiters_of(servers_, settings_.strategy, name, soon(), nullptr));
  list_waiters(state, std::move(waiters));
  move_to_our_clock(state, wall_time(holders->now), asked, answered);
  return state;
}

Result<KnownLocks> BoundAdmin::known_locks() {
  TRY_ASSIGN(auto names, recorded_names(servers_, settings_.strategy, soon()));
  TRY_ASSIGN(const auto waiting, all_waiters(servers_, settings_.strategy, soon()));
  for (const auto& [text, waiters] : waiting) {
    if (auto name = LockName::parse_stored(text)) names.push_back(std::move(*name));
  }
  return KnownLocks{std::move(names)};
}

Result<void> BoundAdmin::end_holder(const LockName& name, std::uint64_t session, TimePoint until) {
  const auto killed = servers_.run("KILL " + std::to_string(session), until);
  if (!killed && killed.error().code == ErrorCode::kDenied) {
    return Error{ErrorCode::kDenied,
                 "only the account that holds " + name.text() + " may end its session " + std::to_string(session) +
                     ", or one with the right CONNECTION ADMIN (MySQL: CONNECTION_ADMIN, and SYSTEM_USER if the holder "
                     "has that)",
                 "ask an administrator for: KILL " + std::to_string(session)};
  }
  while (true) {
    TRY_ASSIGN(const bool lives, servers_.is_live_session(session, until));
    if (!lives) return {};
    runtime_.clock.sleep_until(runtime_.clock.now() + kPause);
    if (runtime_.clock.now() >= until) {
      return Error{ErrorCode::kUnavailable, "the session " + std::to_string(session) + " does not end",
                   "look at it with SHOW PROCESSLIST"};
    }
  }
}

/// Ends the session that holds it; the server frees what it held.
Result<ForceReleased> BoundAdmin::force_release(const LockName& name, const LockState& shown,
                                                const std::string& /*by*/) {
  TRY_ASSIGN(const auto holders, holder_of(name));
  if (holders.participants.empty() && shown.holders.empty()) return ForceReleased{};
  const auto same = [](const Participant& a, const Participant& b) { return a.owner == b.owner && a.token == b.token; };
  if (!std::equal(holders.participants.begin(), holders.participants.end(), shown.holders.begin(), shown.holders.end(),
                  same)) {
    return other_holders(name);
  }
  if (holders.session == 0) {
    return Error{ErrorCode::kUnsupported, "the server does not say which session holds " + name.text(),
                 "find it with SHOW ENGINE INNODB STATUS or SHOW PROCESSLIST and end it with KILL; what has no session "
                 "is shown by XA RECOVER"};
  }
  TRY(end_holder(name, holders.session, soon()));
  return ForceReleased{shown.holders};
}

/// In the record, which the holder reads in its pings: to end its connection would take the lock from it.
Result<void> BoundAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  const auto ask = [&]() -> Result<bool> {
    while (true) {
      TRY_ASSIGN(const auto reading, row(name).read(HolderRow::From::kWritable, soon(), nullptr));
      const HolderRecord& now = reading.record;
      const bool same = std::any_of(shown.holders.begin(), shown.holders.end(), [&](const Participant& one) {
        return one.owner == now.owner && one.token.value() == now.token;
      });
      if (!same || !revocation_of(now.who).empty()) return same;
      HolderRecord next = now;
      next.who = with_revocation(now.who, by);
      TRY_ASSIGN(const bool written, row(name).replace(now, next, soon()));
      if (written) return true;
    }
  };
  TRY_ASSIGN(const bool asked, insist(runtime_.clock, soon(), kAskAgainPause, ask).answer);
  if (asked) return {};
  return has_stranger(shown.holders) ? cannot_be_asked(name, "another session has it") : other_holders(name);
}

Result<HeldLock> BoundAdmin::renew(const LockName& /*name*/, const Owner& /*owner*/, Duration /*ttl*/) {
  return lives_with_its_connection(settings_.strategy);
}

Result<void> BoundAdmin::release(const LockName& /*name*/, const Owner& /*owner*/) {
  return lives_with_its_connection(settings_.strategy);
}

/// Records of sessions that have ended; the lock itself went with them.
Result<std::vector<Swept>> BoundAdmin::sweep(bool dry_run) {
  TRY_ASSIGN(const auto names, recorded_names(servers_, settings_.strategy, soon()));
  std::vector<Swept> swept;
  for (const LockName& name : names) {
    TRY_ASSIGN(const auto reading, row(name).read(HolderRow::From::kAny, soon(), nullptr));
    TRY_ASSIGN(const auto holders, holder_of(name));
    if (!holders.participants.empty() || reading.record.owner.empty()) continue;
    TRY_ASSIGN(const bool gone, dry_run ? Result<bool>(true) : row(name).clear(reading.record.token, soon()));
    if (gone) swept.push_back({name, "the record of a session that has ended"});
  }
  return swept;
}

Result<AdminCommon::Release> BoundAdmin::take_for_ping(const LockName& name) {
  Settings own = settings_;
  own.row.reset();  // never a row of the user's
  const auto store = std::make_shared<BoundStore>(own, name, servers_);
  TRY(servers_.connect(soon(), nullptr));
  TRY(store->prepare(1, soon(), nullptr));
  TRY(store->try_it(soon(), nullptr));
  return Release([this, store] { return store->release(soon()); });
}

void BoundAdmin::forget_ping(const LockName& name) {
  if (settings_.strategy != Strategy::kRow) return;
  (void)run("DELETE FROM dlock_row WHERE name=" + literal(name.text()));
}

}  // namespace dlock::mysql
