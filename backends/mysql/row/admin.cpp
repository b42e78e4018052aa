// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/row/admin.h"

#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {

using namespace std::chrono_literals;

Result<LockState> RowAdmin::inspect(const LockName& name) {
  return table_.look(name, settings_.store, soon(), nullptr);
}

Result<KnownLocks> RowAdmin::known_locks() {
  TRY_ASSIGN(auto names, table_.names(soon()));
  return KnownLocks{std::move(names)};
}

Result<ForceReleased> RowAdmin::force_release(const LockName& name, const LockState& shown, const std::string& /*by*/) {
  if (shown.holders.empty()) {
    TRY_ASSIGN(const auto reading, table_.read_state(name, soon(), nullptr));
    return reading.holder ? Result<ForceReleased>(other_holders(name)) : ForceReleased{};
  }
  const Participant& holder = shown.holders.front();
  TRY_ASSIGN(const auto freed, holder.owner.empty()
                                   ? table_.release_foreign(name, soon())
                                   : table_.release(name, holder.owner, holder.token.value(), soon(), nullptr));
  if (!freed) return other_holders(name);
  return ForceReleased{shown.holders};
}

Result<void> RowAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  for (const Participant& holder : shown.holders) {
    if (holder.owner.empty()) return cannot_be_asked(name, "another program has it");
    TRY_ASSIGN(const auto asked, table_.ask_back(name, holder.owner, holder.token.value(), by, soon()));
    if (asked) return {};
  }
  return other_holders(name);
}

Result<HeldLock> RowAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  const Error lost = not_held(name);
  TRY_ASSIGN(const auto renewed, table_.renew(name, owner.text(), ttl, true, "", soon(), nullptr));
  if (!renewed) return lost;
  TRY_ASSIGN(const auto reading, table_.read_state(name, soon(), nullptr));
  if (!reading.holder) return lost;
  return HeldLock{name, owner, FencingToken(reading.holder->token), settings_.store};
}

Result<void> RowAdmin::release(const LockName& name, const Owner& owner) {
  TRY_ASSIGN(const auto released, table_.release_lease(name, owner.text(), soon()));
  if (released) return {};
  return not_held(name);
}

/// Slots last: the row of one whose lease has ended is free only then.
Result<std::vector<Swept>> RowAdmin::sweep(bool dry_run) {
  std::vector<Swept> swept;
  const auto sweep_each = [&](const Result<std::vector<LockName>>& names, auto sweep_one,
                              const char* what) -> Result<void> {
    if (!names) return names.error();
    for (const LockName& name : *names) {
      TRY_ASSIGN(const auto gone, dry_run ? Result<bool>(true) : (table_.*sweep_one)(name, soon()));
      if (gone) swept.push_back({name, what});
    }
    return {};
  };
  TRY(sweep_each(table_.over(soon()), &RowStore::sweep, "a lease that ended without a release"));
  TRY(sweep_each(table_.free_slots(soon()), &RowStore::remove_free, "the row of a slot that is not remembered"));
  return swept;
}

Result<AdminCommon::Release> RowAdmin::take_for_ping(const LockName& name) {
  const Owner owner = Owner::random();
  TRY(table_.take(name, owner.text(), who_text("ping"), 10s, soon(), nullptr));
  return Release([this, name, owner] { return release(name, owner); });
}

}  // namespace dlock::mysql
