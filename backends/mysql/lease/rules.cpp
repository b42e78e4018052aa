// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/rules.h"

#include <algorithm>

#include "lib/lock/slots.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

bool is_over(const LeaseHolder& holder, ServerTime now) { return holder.until + holder.delay <= now; }

/// Without those whose time is over.
LeaseRow pruned(LeaseRow row, ServerTime now) {
  std::erase_if(row.holders, [now](const LeaseHolder& holder) { return is_over(holder, now); });
  return row;
}

LeaseHolder* find(LeaseRow& row, const std::string& owner) {
  for (LeaseHolder& holder : row.holders) {
    if (holder.owner == owner) return &holder;
  }
  return nullptr;
}

std::string how(const LeaseRow& row) {
  return row.mode == Mode::kShared ? "shared" : "with --permits " + std::to_string(row.permits);
}

std::string slot_for(const LeaseRow& row, const LeaseAsk& ask) {
  if (ask.mode != Mode::kPermits) return {};
  std::vector<std::string> taken;
  for (const LeaseHolder& holder : row.holders) taken.push_back(slot_of(holder.who));
  return free_slot(ask.slots, ask.permits, taken);
}

LeaseHolder newcomer_in(const std::string& slot, const LeaseAsk& ask) {
  return {.owner = ask.owner.text(),
          .delay = whole_micros(ask.lock_delay),
          .connection = ask.connection,
          .entries = {ask.owner.text()},
          .who = with_slot(ask.who, slot)};
}

LeaseDecision add(LeaseRow row, const LeaseAsk& ask, ServerTime now) {
  std::string slot = slot_for(row, ask);
  row.mode = ask.mode;
  row.permits = ask.permits;
  row.fence = std::max(row.fence + 1, static_cast<std::uint64_t>(now));
  LeaseHolder& ours = row.holders.emplace_back(newcomer_in(slot, ask));
  ours.token = row.fence;
  ours.since = now;
  ours.until = now + whole_micros(ask.ttl);
  const std::uint64_t token = row.fence;
  return LeaseTake{std::move(row), ask.owner.text(), token, std::move(slot), false};
}

/// One more permit is free when the first of them ends, an exclusive lock when the last one does.
LeaseBusy busy(const LeaseRow& row, Mode wanted, ServerTime now) {
  std::int64_t first = row.holders.front().until + row.holders.front().delay;
  std::int64_t last = first;
  for (const LeaseHolder& holder : row.holders) {
    first = std::min(first, holder.until + holder.delay);
    last = std::max(last, holder.until + holder.delay);
  }
  return {(wanted == Mode::kPermits ? first : last) - now};
}

}  // namespace

std::int64_t whole_micros(Duration d) { return std::chrono::ceil<std::chrono::microseconds>(d).count(); }

const LeaseHolder* find_holder(const LeaseRow& row, const std::string& owner) {
  return find(const_cast<LeaseRow&>(row), owner);
}

LeaseHolder newcomer(const LeaseAsk& ask) {
  LeaseRow nobodys;
  nobodys.mode = ask.mode;
  return newcomer_in(slot_for(nobodys, ask), ask);
}

bool is_free(const LeaseRow& row, ServerTime now) { return pruned(row, now).holders.empty(); }

LeaseDecision try_take(const LeaseRow& read, const LeaseAsk& ask, ServerTime now) {
  LeaseRow row = pruned(read, now);
  if (LeaseHolder* ours = find(row, ask.owner.text())) {
    ours->until = std::max(ours->until, now + whole_micros(ask.ttl));
    const std::uint64_t token = ours->token;
    std::string slot = slot_of(ours->who);
    return LeaseTake{std::move(row), ask.owner.text(), token, std::move(slot), true};
  }
  if (row.holders.empty()) return add(std::move(row), ask, now);
  if (row.mode == Mode::kExclusive || ask.mode == Mode::kExclusive) return busy(row, ask.mode, now);
  const bool agree = row.mode == ask.mode && (ask.mode == Mode::kShared || row.permits == ask.permits);
  if (!agree) return LeaseDisagreement{how(row)};
  const bool open = ask.mode == Mode::kShared || row.holders.size() < static_cast<std::size_t>(ask.permits);
  return open ? add(std::move(row), ask, now) : LeaseDecision(busy(row, ask.mode, now));
}

std::optional<LeaseRow> extend(const LeaseRow& read, const std::string& owner, Duration ttl, bool exact, ServerTime now,
                               const std::string& ran) {
  LeaseRow row = read;
  LeaseHolder* holder = find(row, owner);
  if (!holder || holder->until <= now) return std::nullopt;
  if (!ran.empty()) holder->who = with_revocation(holder->who, ran_word(ran));
  const ServerTime until = now + whole_micros(ttl);
  holder->until = exact ? until : std::max(holder->until, until);
  return row;
}

std::optional<LeaseRow> give_back(const LeaseRow& read, const std::string& owner, const std::string* entry,
                                  ServerTime now) {
  LeaseRow row = read;
  LeaseHolder* holder = find(row, owner);
  if (!holder || is_over(*holder, now)) return std::nullopt;
  if (entry) {
    if (std::erase(holder->entries, *entry) == 0) return std::nullopt;
    if (!holder->entries.empty()) return row;
  }
  std::erase_if(row.holders, [&](const LeaseHolder& one) { return one.owner == owner; });
  return row;
}

LeaseRow given_up(LeaseRow row, const std::string& owner) {
  row.holders.push_back({.owner = owner, .entries = {}, .who = ""});
  return row;
}

std::optional<LeaseRow> sweep(const LeaseRow& read, ServerTime now) {
  LeaseRow row = pruned(read, now);
  if (row.holders.size() == read.holders.size()) return std::nullopt;
  return row;
}

std::optional<LeaseRow> force_free(const LeaseRow& read, const LockState& shown, ServerTime now) {
  LeaseRow row = pruned(read, now);
  if (row.holders.size() != shown.holders.size()) return std::nullopt;
  std::int64_t delay = 0;
  for (const LeaseHolder& holder : row.holders) {
    const bool seen = std::any_of(shown.holders.begin(), shown.holders.end(), [&](const Participant& participant) {
      return holder.owner == "-" ? participant.owner.empty()
                                 : participant.owner == holder.owner && participant.token.value() == holder.token;
    });
    if (!seen) return std::nullopt;
    if (holder.owner != "-") delay = std::max(delay, holder.delay);
  }
  row.holders.clear();
  if (delay > 0) row.holders.push_back({.owner = "-", .until = now, .delay = delay, .entries = {}, .who = ""});
  return row;
}

std::optional<LeaseRow> ask_back(const LeaseRow& read, const LockState& shown, const std::string& by) {
  LeaseRow row = read;
  bool found = false;
  for (const Participant& participant : shown.holders) {
    LeaseHolder* holder = find(row, participant.owner);
    if (!holder || holder->token != participant.token.value()) continue;
    found = true;
    if (revocation_of(holder->who).empty()) holder->who = with_revocation(holder->who, by);
  }
  return found ? std::optional(std::move(row)) : std::nullopt;
}

}  // namespace dlock::mysql
