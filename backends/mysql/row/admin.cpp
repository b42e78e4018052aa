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
  auto names = table_.names(soon());
  if (!names) return names.error();
  return KnownLocks{std::move(*names)};
}

Result<ForceReleased> RowAdmin::force_release(const LockName& name, const LockState& shown, const std::string& /*by*/) {
  if (shown.holders.empty()) {
    const auto reading = table_.read_state(name, soon(), nullptr);
    if (!reading) return reading.error();
    return reading->holder ? Result<ForceReleased>(other_holders(name)) : ForceReleased{};
  }
  const Participant& holder = shown.holders.front();
  const auto freed = holder.owner.empty() ? table_.release_foreign(name, soon())
                                          : table_.release(name, holder.owner, holder.token.value(), soon(), nullptr);
  if (!freed) return freed.error();
  if (!*freed) return other_holders(name);
  return ForceReleased{shown.holders};
}

Result<void> RowAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  for (const Participant& holder : shown.holders) {
    if (holder.owner.empty()) return cannot_be_asked(name, "another program has it");
    const auto asked = table_.ask_back(name, holder.owner, holder.token.value(), by, soon());
    if (!asked) return asked.error();
    if (*asked) return {};
  }
  return other_holders(name);
}

Result<HeldLock> RowAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  const Error lost = not_held(name);
  const auto renewed = table_.renew(name, owner.text(), ttl, true, "", soon(), nullptr);
  if (!renewed) return renewed.error();
  if (!*renewed) return lost;
  const auto reading = table_.read_state(name, soon(), nullptr);
  if (!reading) return reading.error();
  if (!reading->holder) return lost;
  return HeldLock{name, owner, FencingToken(reading->holder->token), settings_.store};
}

Result<void> RowAdmin::release(const LockName& name, const Owner& owner) {
  const auto released = table_.release(name, owner.text(), {}, soon(), nullptr);
  if (!released) return released.error();
  if (*released) return {};
  return not_held(name);
}

/// Slots last: the row of one whose lease has ended is free only then.
Result<std::vector<Swept>> RowAdmin::sweep(bool dry_run) {
  std::vector<Swept> swept;
  const auto sweep_each = [&](const Result<std::vector<LockName>>& names, auto sweep_one,
                              const char* what) -> Result<void> {
    if (!names) return names.error();
    for (const LockName& name : *names) {
      const auto gone = dry_run ? Result<bool>(true) : (table_.*sweep_one)(name, soon());
      if (!gone) return gone.error();
      if (*gone) swept.push_back({name, what});
    }
    return {};
  };
  const auto over = sweep_each(table_.over(soon()), &RowStore::sweep, "a lease that ended without a release");
  if (!over) return over.error();
  const auto slots =
      sweep_each(table_.free_slots(soon()), &RowStore::remove_free, "the row of a slot that is not remembered");
  if (!slots) return slots.error();
  return swept;
}

Result<AdminCommon::GiveBack> RowAdmin::take_for_ping(const LockName& name) {
  const Owner owner = Owner::random();
  const auto taken = table_.take(name, owner.text(), who_text("ping"), 10s, soon(), nullptr);
  if (!taken) return taken.error();
  return GiveBack([this, name, owner] { return release(name, owner); });
}

}  // namespace dlock::mysql
