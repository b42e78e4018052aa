// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/row/view.h"

#include "backends/mysql/connection/common_statements.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

std::optional<WallTime> wall(std::optional<ServerTime> time) {
  return time ? std::optional(wall_time(*time)) : std::nullopt;
}

}  // namespace

LockState row_state(const RowStore::State& reading, const LockName& name, const std::string& store, WallTime asked,
                    WallTime answered) {
  LockState state{name, store, Mode::kExclusive, 0, {}, {}};
  if (!reading.holder) return state;
  Participant participant;
  participant.owner = reading.holder->owner;
  participant.token = FencingToken(reading.holder->token);
  participant.count = reading.holder->entries;
  participant.since = wall(reading.holder->since);
  participant.until = wall(reading.holder->until);
  if (participant.owner.empty()) participant.note = "another program";
  else add_who(participant, reading.holder->who);
  state.holders.push_back(std::move(participant));
  move_to_our_clock(state, wall_time(reading.now), asked, answered);
  return state;
}

Result<LockState> RowView::inspect(const LockName& name) {
  const WallTime asked = runtime_.clock.wall();
  const auto reading = table_.read_state(name, soon(), nullptr);
  if (!reading) return reading.error();
  return row_state(*reading, name, settings_.store, asked, runtime_.clock.wall());
}

Result<std::vector<LockName>> RowView::names() { return table_.names(soon()); }

Result<ForceReleased> RowView::force_release(const LockName& name, const LockState& shown, const std::string& /*by*/) {
  const Error others{ErrorCode::kConflict, name.text() + " has another holder by now; nothing was freed"};
  if (shown.holders.empty()) {
    const auto reading = table_.read_state(name, soon(), nullptr);
    if (!reading) return reading.error();
    return reading->holder ? Result<ForceReleased>(others) : ForceReleased{};
  }
  const Participant& holder = shown.holders.front();
  const auto freed = holder.owner.empty() ? table_.release_foreign(name, soon())
                                          : table_.release(name, holder.owner, holder.token.value(), soon(), nullptr);
  if (!freed) return freed.error();
  if (!*freed) return others;
  return ForceReleased{shown.holders};
}

Result<void> RowView::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  for (const Participant& holder : shown.holders) {
    if (holder.owner.empty()) return cannot_be_asked(name, "another program has it");
    const auto asked = table_.ask_back(name, holder.owner, holder.token.value(), by, soon());
    if (!asked) return asked.error();
    if (*asked) return {};
  }
  return other_holders(name);
}

Result<HeldLock> RowView::renew(const LockName& name, const Owner& owner, Duration ttl) {
  const Error lost = not_held(name, settings_.store);
  const auto renewed = table_.renew(name, owner.text(), ttl, true, soon(), nullptr);
  if (!renewed) return renewed.error();
  if (!*renewed) return lost;
  const auto reading = table_.read_state(name, soon(), nullptr);
  if (!reading) return reading.error();
  if (!reading->holder) return lost;
  return HeldLock{name, owner, FencingToken(reading->holder->token), settings_.store};
}

Result<void> RowView::release(const LockName& name, const Owner& owner) {
  const auto released = table_.release(name, owner.text(), {}, soon(), nullptr);
  if (!released) return released.error();
  if (*released) return {};
  return not_held(name, settings_.store);
}

Result<std::vector<Swept>> RowView::sweep(bool dry_run) {
  const auto over = table_.over(soon());
  if (!over) return over.error();
  std::vector<Swept> swept;
  for (const LockName& name : *over) {
    if (!dry_run) {
      const auto gone = table_.sweep(name, soon());
      if (!gone) return gone.error();
      if (!*gone) continue;
    }
    swept.push_back({name, "a lease that ended without a release"});
  }
  auto rows = sweep_rows(servers_, settings_.strategy, dry_run, runtime_.clock, soon());
  if (!rows) return rows.error();
  swept.insert(swept.end(), rows->begin(), rows->end());
  return swept;
}

Result<AdminCommon::GiveBack> RowView::take_for_ping(const LockName& name) {
  const Owner owner = Owner::random();
  const auto taken = table_.take(name, owner.text(), who_text("ping"), 10s, soon(), nullptr);
  if (!taken) return taken.error();
  return AdminCommon::GiveBack([this, name, owner] { return release(name, owner); });
}

}  // namespace dlock::mysql
