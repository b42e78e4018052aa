// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/bound/admin.h"

#include "lib/lock/lock_errors.h"

namespace dlock::postgres {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(10);

/// Of a program that takes the same lock without dlock, or of an account whose sessions ours may not see.
Participant another_session(const HolderSession& holder) {
  Participant participant;
  participant.owner = unknown_owner(holder.backend);
  participant.note = "another " + participant.owner;
  return participant;
}

}  // namespace

BoundAdmin::BoundAdmin(std::shared_ptr<Servers> servers, const Runtime& runtime)
    : PostgresAdmin(std::move(servers), kSessionSpace, runtime) {}

Result<LockState> BoundAdmin::inspect(const LockName& name) {
  TRY_ASSIGN(auto state, RowAdmin::inspect(name));
  TRY_ASSIGN(const auto holder, holder_session(*servers_, name, soon()));
  std::erase_if(state.holders,
                [&](const Participant& one) { return !holder || holder->name != session_name(one.owner); });
  for (Participant& one : state.holders) one.until.reset();
  if (holder && state.holders.empty()) state.holders.push_back(another_session(*holder));
  return state;
}

Result<ForceReleased> BoundAdmin::force_release(const LockName& name, const LockState& shown,
                                                const std::string& /*by*/) {
  const CallLimit limit = soon();
  const std::string owner = shown.holders.empty() ? "" : shown.holders.front().owner;
  TRY_ASSIGN(const auto ended, end_holder_session(*servers_, name, owner, limit));
  TRY_ASSIGN(auto holder, holder_session(*servers_, name, limit));
  if (!ended && (holder || !shown.holders.empty())) return other_holders(name);
  while (holder && holder->backend == ended) {
    runtime_.clock.sleep_until(runtime_.clock.now() + kPause);
    if (runtime_.clock.now() >= limit.until)
      return Error{ErrorCode::kUnavailable, "session " + *ended + " does not end", "look at it in pg_stat_activity"};
    TRY_ASSIGN(holder, holder_session(*servers_, name, limit));
  }
  return ForceReleased{shown.holders};
}

Result<void> BoundAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  TRY_ASSIGN(const auto now, inspect(name));
  if (now.holders.empty()) return other_holders(name);
  if (now.holders.front().token.is_none()) return cannot_be_asked(name, "another session has it");
  return RowAdmin::revoke(name, shown, by);
}

Result<HeldLock> BoundAdmin::renew(const LockName& /*name*/, const Owner& /*owner*/, Duration /*ttl*/) {
  return lives_with_its_connection();
}

Result<void> BoundAdmin::release(const LockName& /*name*/, const Owner& /*owner*/) {
  return lives_with_its_connection();
}

/// Whoever takes the lock meanwhile writes another version of the record.
Result<std::vector<Swept>> BoundAdmin::collect_garbage(bool dry_run) {
  TRY_ASSIGN(const auto filled, locks_->survey(kLockRow, Rows::Which::kFilled, soon()));
  std::vector<Swept> swept;
  for (const auto& [name, row] : filled.rows) {
    TRY_ASSIGN(const auto holder, holder_session(*servers_, name, soon()));
    if (holder) continue;
    const Rows::Commit empty{{Rows::Change::Kind::kPut, kLockRow, row.version, ""}};
    TRY_ASSIGN(const auto gone, dry_run ? Result<Rows::Number>(1) : locks_->commit(name, empty, soon()));
    if (gone != 0) swept.push_back({name, "the record of a session that has ended"});
  }
  TRY_ASSIGN(auto rest, RowAdmin::collect_garbage(dry_run));
  swept.insert(swept.end(), rest.begin(), rest.end());
  return swept;
}

Result<AdminCommon::Release> BoundAdmin::take_for_ping(const LockName& name) {
  TRY(servers_->run("SELECT pg_try_advisory_lock(" + lock_number(name) + ")", {}, soon()));
  return Release([this, name]() -> Result<void> {
    TRY(servers_->run("SELECT pg_advisory_unlock(" + lock_number(name) + ")", {}, soon()));
    return {};
  });
}

}  // namespace dlock::postgres
