// SPDX-License-Identifier: Apache-2.0
#include "lib/row_lock/row_admin.h"

#include <algorithm>
#include <utility>

#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"
#include "lib/rows/row_queue.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using Next = RecordStore::Next;

LockState moved(LockState state, StoreTime now, WallTime asked, WallTime answered) {
  move_to_our_clock(state, wall_time(now), asked, answered);
  return state;
}

constexpr Duration kRemembered = 24h;  ///< how long the version of a free lock is kept

std::vector<std::string> owners_of(const LockRecord& record) {
  std::vector<std::string> owners;
  for (const LeaseHolder& holder : record.holders) {
    if (holder.owner != kNobody) owners.push_back(holder.owner);
  }
  return owners;
}

}  // namespace

LockState RowAdmin::shown(const LockName& name, const RecordReading& reading) const {
  LockState state = state_of(reading.record, name, store(), reading.now);
  state.ever_taken = reading.record.version != 0;
  state.forgets = true;
  return state;
}

Result<RowAdmin::Waiters> RowAdmin::all_waiters() {
  RowQueue* queue = locks_->queue();
  return queue ? queue->waiters(nullptr, soon()) : Waiters();
}

Result<LockState> RowAdmin::inspect(const LockName& name) {
  const WallTime asked = runtime_.clock.wall();
  TRY_ASSIGN(const auto reading, lock(name).read(soon()));
  const WallTime answered = runtime_.clock.wall();
  LockState state = shown(name, reading);
  TRY(lock(name).add_queue(state, soon()));
  return moved(std::move(state), reading.now, asked, answered);
}

Result<KnownLocks> RowAdmin::known_locks() {
  const WallTime asked = runtime_.clock.wall();
  TRY_ASSIGN(auto found, locks_->survey(kLockRow, Rows::Which::kFilled, soon()));
  seen_ = {.rows = {}, .now_us = found.now_us, .asked = asked, .answered = runtime_.clock.wall(), .waiting = {}};
  TRY_ASSIGN(seen_.waiting, all_waiters());
  KnownLocks known;
  for (auto& [name, row] : found.rows) {
    known.names.push_back(name);
    seen_.rows.emplace(name, std::move(row));
  }
  for (const auto& [text, waiters] : seen_.waiting) {
    if (auto name = LockName::parse_stored(text)) known.names.push_back(std::move(*name));
  }
  return known;
}

std::vector<Result<LockState>> RowAdmin::inspect_some(std::span<const LockName> names) {
  std::vector<Result<LockState>> states;
  for (const LockName& name : names) {
    auto reading = lock(name).understood(seen_.rows[name], seen_.now_us, {});
    if (!reading) {
      states.push_back(reading.error());
      continue;
    }
    LockState state = shown(name, *reading);
    list_more_waiters(state, std::move(seen_.waiting[name.text()]));
    states.push_back(moved(std::move(state), reading->now, seen_.asked, seen_.answered));
  }
  return states;
}

Result<ForceReleased> RowAdmin::force_release(const LockName& name, const LockState& shown, const std::string& /*by*/) {
  bool unanswered = false;
  const auto make = [&](const RecordReading& reading) -> std::optional<Next> {
    auto next = force_free(reading.record, shown, reading.now);
    if (!next) return std::nullopt;
    return Next{.record = std::move(*next), .tell = owners_of(reading.record)};
  };
  TRY_ASSIGN(const auto freed, lock(name).rewrite(make, soon(), &unanswered));
  if (!freed && !unanswered) return other_holders(name);
  return ForceReleased{shown.holders};
}

Result<void> RowAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  bool unanswered = false;
  const auto make = [&](const RecordReading& reading) -> std::optional<Next> {
    auto next = ask_back(reading.record, shown, by);
    if (!next) return std::nullopt;
    std::vector<std::string> asked = owners_of(*next);
    std::erase_if(asked, [&](const std::string& one) { return revocation_of(find_holder(*next, one)->who).empty(); });
    return Next{.record = std::move(*next), .tell = std::move(asked)};
  };
  TRY_ASSIGN(const auto told, lock(name).rewrite(make, soon(), &unanswered));
  return told || unanswered ? Result<void>() : other_holders(name);
}

Result<HeldLock> RowAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  const std::string& text = owner.text();
  const auto make = [&](const RecordReading& reading) -> std::optional<Next> {
    auto next = extend(reading.record, text, ttl, true, reading.now);
    if (!next) return std::nullopt;
    return Next{.record = std::move(*next), .before = find_holder(reading.record, text)->until};
  };
  TRY_ASSIGN(const auto renewed, lock(name).rewrite(make, soon()));
  if (!renewed) return not_held(name);
  return HeldLock{name, owner, FencingToken(find_holder(renewed->after.record, text)->token), store()};
}

Result<void> RowAdmin::release(const LockName& name, const Owner& owner) {
  bool unanswered = false;
  const auto make = [&](const RecordReading& reading) -> std::optional<Next> {
    if (!find_holder(reading.record, owner.text())) return std::nullopt;
    auto next = give_back(reading.record, owner.text(), reading.now);
    // Of a watched process: its keeper hears it.
    return next ? std::optional(Next{.record = std::move(*next), .tell = {owner.text()}}) : std::nullopt;
  };
  TRY_ASSIGN(const auto released, lock(name).rewrite(make, soon(), &unanswered));
  return released || unanswered ? Result<void>() : not_held(name);
}

Result<std::vector<Swept>> RowAdmin::collect_garbage(bool dry_run) {
  std::vector<Swept> swept;
  TRY_ASSIGN(const auto filled, locks_->survey(kLockRow, Rows::Which::kFilled, soon()));
  for (const auto& [name, row] : filled.rows) {
    const auto reading = lock(name).understood(row, filled.now_us, {});
    if (!reading || !sweep(reading->record, reading->now)) continue;
    const bool lease = sweep(reading->record, reading->now)->holders.size() < reading->record.holders.size();
    const auto make = [](const RecordReading& now) -> std::optional<Next> {
      auto next = dlock::sweep(now.record, now.now);
      return next ? std::optional(Next{.record = std::move(*next)}) : std::nullopt;
    };
    if (!dry_run) TRY(lock(name).rewrite(make, soon()));
    if (lease) swept.push_back({name, "a lease that ended without a release"});
  }
  TRY_ASSIGN(const auto empty, locks_->survey(kLockRow, Rows::Which::kEmpty, soon()));
  for (const auto& [name, row] : empty.rows) {
    if (row.written_us + whole_micros(kRemembered) >= empty.now_us) continue;
    TRY_ASSIGN(const bool gone, dry_run ? Result<bool>(true) : lock(name).forget(row, soon()));
    if (gone) swept.push_back({name, "the row of a lock that was not taken for a day"});
  }
  return swept;
}

Result<AdminCommon::Release> RowAdmin::take_for_ping(const LockName& name) {
  const Owner owner = Owner::random();
  TRY_ASSIGN(const auto taken, lock(name).take_free({.owner = owner, .ttl = 10s, .who = who_text("ping")}, soon()));
  if (!taken) return other_holders(name);
  return Release([this, name, owner] { return release(name, owner); });
}

void RowAdmin::forget_ping(const LockName& name) {
  const std::string key = kLockRow;
  const auto look = locks_->read(name, {&key, 1}, soon());
  if (look && look->rows.front().text.empty()) (void)lock(name).forget(look->rows.front(), soon());
}

}  // namespace dlock
