// SPDX-License-Identifier: Apache-2.0
#include "lib/row_lock/rules.h"

#include <algorithm>

#include "lib/lock/slots.h"
#include "lib/lock/who_text.h"

namespace dlock {
namespace {

bool is_over(const LeaseHolder& holder, StoreTime now) { return holder.until + holder.delay <= now; }

/// Without those whose time is over.
LockRecord pruned(LockRecord record, StoreTime now) {
  std::erase_if(record.holders, [now](const LeaseHolder& holder) { return is_over(holder, now); });
  std::erase_if(record.waiters, [now](const LeaseWaiter& waiter) { return waiter.until <= now; });
  return record;
}

LeaseHolder* find(LockRecord& record, const std::string& owner) {
  for (LeaseHolder& holder : record.holders) {
    if (holder.owner == owner) return &holder;
  }
  return nullptr;
}

bool leave_queue(LockRecord& record, const std::string& owner) {
  return std::erase_if(record.waiters, [&](const LeaseWaiter& waiter) { return waiter.owner == owner; }) > 0;
}

std::string how(const LockRecord& record) {
  return record.mode == Mode::kShared ? "shared" : "with --permits " + std::to_string(record.permits);
}

std::string slot_for(const LockRecord& record, const LeaseAsk& ask) {
  if (ask.mode != Mode::kPermits) return {};
  std::vector<std::string> taken;
  for (const LeaseHolder& holder : record.holders) taken.push_back(slot_of(holder.who));
  return free_slot(ask.slots, ask.permits, taken);
}

void set_lease(LeaseHolder& holder, Duration ttl, StoreTime now) {
  holder.lasts = whole_micros(ttl);
  holder.until = now + holder.lasts;
}

LeaseTake add(LockRecord record, const LeaseAsk& ask, StoreTime now) {
  const std::string slot = slot_for(record, ask);
  record.mode = ask.mode;
  record.permits = ask.permits;
  LeaseHolder& ours = record.holders.emplace_back();
  ours.owner = ask.owner.text();
  ours.delay = whole_micros(ask.lock_delay);
  ours.who = with_slot(ask.who, slot);
  set_lease(ours, ask.ttl, now);
  leave_queue(record, ask.owner.text());
  return {std::move(record)};
}

/// A lost answer had granted it.
LeaseTake take_again(LockRecord record, LeaseHolder& ours, const LeaseAsk& ask, StoreTime now) {
  const StoreTime before = ours.until;
  if (now + whole_micros(ask.ttl) > ours.until) set_lease(ours, ask.ttl, now);
  leave_queue(record, ask.owner.text());
  return {std::move(record), before};
}

/// How many stand before `ask`.
std::size_t place_of(const LockRecord& record, const LeaseAsk& ask) {
  const auto ours = std::find_if(record.waiters.begin(), record.waiters.end(),
                                 [&](const LeaseWaiter& waiter) { return waiter.owner == ask.owner.text(); });
  return static_cast<std::size_t>(ours - record.waiters.begin());
}

/// Whether what those before it want leaves nothing for `ask`.
bool is_behind(const LockRecord& record, const LeaseAsk& ask, std::size_t place) {
  for (std::size_t i = 0; i < place; ++i) {
    if (record.waiters[i].mode != ask.mode || ask.mode == Mode::kExclusive) return true;
  }
  return ask.mode == Mode::kPermits && record.holders.size() + place >= static_cast<std::size_t>(ask.permits);
}

/// One more permit is free when the first of them ends, an exclusive lock when the last one does. Who is not the first
/// waits for the one before it, which may be dead.
LeaseBusy busy(const LockRecord& record, const LeaseAsk& ask, std::size_t place, StoreTime now) {
  if (place > 0) return {record.waiters[place - 1].until - now, place};
  std::int64_t first = record.holders.front().until + record.holders.front().delay;
  std::int64_t last = first;
  for (const LeaseHolder& holder : record.holders) {
    first = std::min(first, holder.until + holder.delay);
    last = std::max(last, holder.until + holder.delay);
  }
  return {(ask.mode == Mode::kPermits ? first : last) - now, 0};
}

const Participant* find_shown(const LeaseHolder& holder, const std::vector<Participant>& shown) {
  const auto found = std::find_if(shown.begin(), shown.end(), [&](const Participant& participant) {
    return holder.owner == kNobody ? participant.owner.empty()
                                   : participant.owner == holder.owner && participant.token.value() == holder.token;
  });
  return found == shown.end() ? nullptr : &*found;
}

}  // namespace

LeaseAsk ask_of(const LockSpec& spec) {
  return {.owner = spec.owner,
          .mode = spec.mode,
          .permits = spec.mode == Mode::kPermits ? spec.permits : 0,
          .ttl = spec.ttl,
          .lock_delay = spec.lock_delay,
          .who = who_text(spec),
          .slots = spec.slots};
}

const LeaseHolder* find_holder(const LockRecord& record, const std::string& owner) {
  return find(const_cast<LockRecord&>(record), owner);
}

bool is_queued(const LockRecord& record, const std::string& owner) {
  return std::any_of(record.waiters.begin(), record.waiters.end(),
                     [&](const LeaseWaiter& waiter) { return waiter.owner == owner; });
}

LockRecord first_record(const LeaseAsk& ask) { return add({}, ask, 0).next; }

bool is_free(const LockRecord& record, StoreTime now) { return pruned(record, now).holders.empty(); }

LeaseDecision try_take(const LockRecord& read, const LeaseAsk& ask, StoreTime now) {
  LockRecord record = pruned(read, now);
  if (LeaseHolder* ours = find(record, ask.owner.text()); ours && ours->until > now)
    return take_again(std::move(record), *ours, ask, now);
  const std::size_t place = place_of(record, ask);
  const bool held = !record.holders.empty();
  if (held && (record.mode == Mode::kExclusive || ask.mode == Mode::kExclusive)) return busy(record, ask, place, now);
  const bool agree = record.mode == ask.mode && (ask.mode == Mode::kShared || record.permits == ask.permits);
  if (held && !agree) return LeaseDisagreement{how(record)};
  const bool full = ask.mode == Mode::kPermits && record.holders.size() >= static_cast<std::size_t>(ask.permits);
  if (full || is_behind(record, ask, place)) return busy(record, ask, place, now);
  return add(std::move(record), ask, now);
}

LockRecord with_waiter(const LockRecord& read, const LeaseAsk& ask, Duration alive, StoreTime now) {
  LockRecord record = pruned(read, now);
  const std::size_t place = place_of(record, ask);
  if (place == record.waiters.size()) {
    record.waiters.push_back({.owner = ask.owner.text(), .mode = ask.mode, .who = ask.who});
  }
  record.waiters[place].lasts = whole_micros(alive);
  record.waiters[place].until = now + whole_micros(alive);
  return record;
}

std::vector<std::string> next_owners(const LockRecord& read, StoreTime now) {
  const LockRecord record = pruned(read, now);
  std::vector<std::string> owners;
  for (const LeaseWaiter& waiter : record.waiters) {
    const bool alone = record.holders.empty() && owners.empty();
    const bool joins = waiter.mode != Mode::kExclusive && waiter.mode == record.waiters.front().mode &&
                       (record.holders.empty() || record.mode == waiter.mode);
    const bool full = waiter.mode == Mode::kPermits &&
                      record.holders.size() + owners.size() >= static_cast<std::size_t>(record.permits);
    if (!alone && (!joins || full)) break;
    owners.push_back(waiter.owner);
  }
  return owners;
}

std::optional<LockRecord> extend(const LockRecord& read, const std::string& owner, Duration ttl, bool exact,
                                 StoreTime now, const std::string& ran) {
  LockRecord record = read;
  LeaseHolder* holder = find(record, owner);
  if (!holder || holder->until <= now) return std::nullopt;
  if (!ran.empty()) holder->who = with_revocation(holder->who, ran_word(ran));
  if (exact || now + whole_micros(ttl) > holder->until) set_lease(*holder, ttl, now);
  return record;
}

std::optional<LockRecord> give_back(const LockRecord& read, const std::string& owner, StoreTime now) {
  LockRecord record = pruned(read, now);
  const bool waits = leave_queue(record, owner);
  const bool holds =
      std::erase_if(record.holders, [&](const LeaseHolder& holder) { return holder.owner == owner; }) > 0;
  return waits || holds ? std::optional(std::move(record)) : std::nullopt;
}

LockRecord given_up(LockRecord record, const std::string& owner) {
  record.waiters.push_back({.owner = owner, .since = 1, .until = 1});
  return record;
}

std::optional<LockRecord> sweep(const LockRecord& read, StoreTime now) {
  LockRecord record = pruned(read, now);
  const bool same = record.holders.size() == read.holders.size() && record.waiters.size() == read.waiters.size();
  return same ? std::nullopt : std::optional(std::move(record));
}

std::optional<LockRecord> force_free(const LockRecord& read, const LockState& shown, StoreTime now) {
  LockRecord record = pruned(read, now);
  if (record.holders.size() != shown.holders.size()) return std::nullopt;
  for (LeaseHolder& holder : record.holders) {
    const Participant* seen = find_shown(holder, shown.holders);
    if (seen == nullptr) return std::nullopt;
    if (is_delay(seen->standing)) holder.delay = 0;
    holder.owner = kNobody;
    holder.until = now;
  }
  return pruned(std::move(record), now);
}

std::optional<LockRecord> ask_back(const LockRecord& read, const LockState& shown, const std::string& by) {
  LockRecord record = read;
  bool found = false;
  for (const Participant& participant : shown.holders) {
    LeaseHolder* holder = find(record, participant.owner);
    if (!holder || holder->token != participant.token.value()) continue;
    found = true;
    if (revocation_of(holder->who).empty()) holder->who = with_revocation(holder->who, by);
  }
  return found ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace dlock
