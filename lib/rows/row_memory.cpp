// SPDX-License-Identifier: Apache-2.0
#include "lib/rows/row_memory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/text.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock {
namespace {

using Kind = Rows::Change::Kind;

constexpr char kFenceRow[] = "fence";
constexpr char kSweepRow[] = "sweep";
constexpr char kSlots[] = "slot/";
constexpr char kFreed[] = "freed/";
constexpr std::string_view kSeen = "seen ";
constexpr std::string_view kAt = "at ";

constexpr Duration kNoteBudget = std::chrono::seconds(1);  ///< nobody waits longer for what is only told
constexpr std::int64_t kHourUs = 3'600'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kAtOnce = 256;  ///< rows in one look
constexpr int kQuickTries = 5;        ///< after lost races, before there is a pause
/// A key whose slots end one after the other is not swept for each of them, but so often while the longest is
/// remembered: who has thousands does not read them all in every run.
constexpr int kSweepsInOneLife = 64;

std::int64_t microseconds(Duration duration) { return std::chrono::ceil<std::chrono::microseconds>(duration).count(); }

std::string slot_row(const LockName& slot) { return kSlots + std::string(slot.slot()); }
std::string freed_row(const std::string& owner) { return kFreed + owner; }
LockName key_of(const LockName& slot) { return *LockName::parse(slot.key()); }

Rows::Change put(std::string key, const Rows::Row& at, std::string text) {
  return {Kind::kPut, std::move(key), at.version, std::move(text), {}};
}
Rows::Change remove(std::string key, const Rows::Row& at) {
  return {Kind::kRemove, std::move(key), at.version, {}, {}};
}
Rows::Change check(std::string key, const Rows::Row& at) { return {Kind::kCheck, std::move(key), at.version, {}, {}}; }

/// When a row is over by the store's clock: a slot or a note.
std::int64_t end_of(const std::string& key, const Rows::Row& row) {
  if (row.version == 0) return 0;
  return row.written_us + (key.starts_with(kSlots) ? leading_number<std::int64_t>(row.text) : kHourUs);
}

std::int64_t sweep_at(const Rows::Row& row) {
  return row.version == 0 ? kNever : leading_number<std::int64_t>(std::string_view(row.text).substr(kAt.size()));
}
Rows::Change sweep_first_at(std::int64_t us, const Rows::Row& row) {
  return put(kSweepRow, row, std::string(kAt) + std::to_string(us));
}
/// Then, or when it was due before.
Rows::Change sweep_by(std::int64_t us, const Rows::Row& row) {
  return sweep_first_at(std::min(us, sweep_at(row)), row);
}

/// What is said of a row that is over.
Swept swept_row(const LockName& key, std::string_view row) {
  const auto slot = LockName::of_slot(key, row.substr(std::min(row.size(), sizeof kSlots - 1)));
  if (row.starts_with(kSlots) && slot) return {*slot, "the row of a slot that is not remembered"};
  return {key, "the note of a force-release"};
}

WallTime wall(std::int64_t us) { return WallTime(std::chrono::microseconds(us)); }

Participant runner_of(std::string slot, const Rows::Row& row) {
  std::string_view rest = row.text;
  const auto remember = leading_number<std::int64_t>(cut(rest, ' '));
  Participant who;
  who.owner = cut(rest, ' ');
  add_who(who, rest, true);
  who.slot = std::move(slot);
  who.since = wall(row.written_us);
  who.until = wall(row.written_us + remember);
  who.at_least = std::chrono::microseconds(remember);
  return who;
}

class RowMemory final : public KeyMemory {
 public:
  RowMemory(std::unique_ptr<Rows> rows, Clock& clock) : rows_(std::move(rows)), clock_(clock) {}

  Result<void> fence(const LockName& resource, FencingToken token, TimePoint until) override;
  Result<std::optional<Participant>> look_up(const LockName& slot, TimePoint until) override;
  Result<void> remember(const LockName& slot, const SlotRun& run, TimePoint until) override;
  Result<std::vector<Participant>> remembered(const LockName& key, TimePoint until) override;
  Result<Participant> forget(const LockName& slot, TimePoint until) override;
  void note_who_frees(const LockName& key, std::span<const std::string> owners, const std::string& by) override;
  std::string who_freed(const LockName& key, const std::string& owner, TimePoint until) override;
  Result<std::vector<Swept>> sweep(bool dry_run, Duration patience) override;

 private:
  using Keys = std::vector<std::string>;
  using Look = Rows::Look;

  /// Rows with their keys, and a clock that is not old.
  struct Found {
    std::vector<std::pair<std::string, Rows::Row>> rows;
    std::int64_t now_us = 0;
  };

  /// What is over of a key, and of what is not the first and the last end.
  struct Leavings {
    std::vector<Rows::Commit> removals;
    std::vector<Swept> swept;
    std::int64_t now_us = 0;
    std::int64_t first_end = kNever;
    std::int64_t last_end = 0;

    std::int64_t next_sweep() const {
      return first_end == kNever ? kNever : std::max(first_end, now_us + (last_end - now_us) / kSweepsInOneLife);
    }
  };

  template <typename Ask>
  std::invoke_result_t<Ask&> until_answered(TimePoint until, Ask ask) {
    return insist(clock_, until, kAskAgainPause, std::move(ask)).answer;
  }
  template <typename Decide>
  Result<void> change(const LockName& group, const Keys& keys, TimePoint until, Decide decide);
  Result<Look> look(const LockName& group, const Keys& keys, TimePoint until) {
    return rows_->read(group, keys, {until});
  }
  Result<Look> look_in_time(const LockName& group, const Keys& keys, TimePoint until);
  Result<Found> find(const LockName& group, std::string_view prefix, TimePoint until);
  std::vector<Participant> shown(Found found, WallTime asked) const;
  Result<Leavings> leavings(const LockName& key, TimePoint until);
  Result<std::vector<Swept>> sweep_key(const LockName& key, bool dry_run, TimePoint until);
  Result<void> sweep_if_due(const LockName& key, TimePoint until);

  const std::unique_ptr<Rows> rows_;
  Clock& clock_;
};

/// Looks, decides and commits, until that has an answer. `decide(look, unsure)` gives the commit; an empty one: there
/// is nothing to change. Unsure: a commit of this call has no answer.
template <typename Decide>
Result<void> RowMemory::change(const LockName& group, const Keys& keys, TimePoint until, Decide decide) {
  bool unsure = false;
  const auto once = [&]() -> Result<void> {
    for (int tries = 0; tries < kQuickTries; ++tries) {
      TRY_ASSIGN(const auto seen, look(group, keys, until));
      TRY_ASSIGN(const Rows::Commit commit, decide(seen, unsure));
      if (commit.empty()) return {};
      const auto number = rows_->commit(group, commit, {until});
      unsure = unsure || (!number && number.error().code == ErrorCode::kUnavailable && !number.error().undone);
      TRY(number);
      if (*number != 0) return {};
    }
    return crowd_at(rows_->store(), group);
  };
  auto done = until_answered(until, once);
  if (!done && done.error().code == ErrorCode::kUnavailable) {
    Error error = std::move(done).error();
    error.undone = !unsure;
    return error;
  }
  return done;
}

/// A list has the store show its clock; a mere look may have an old one.
Result<Rows::Look> RowMemory::look_in_time(const LockName& group, const Keys& keys, TimePoint until) {
  TRY(rows_->list(group, kFreed, {until}));
  return look(group, keys, until);
}

Result<RowMemory::Found> RowMemory::find(const LockName& group, std::string_view prefix, TimePoint until) {
  TRY_ASSIGN(auto keys, rows_->list(group, std::string(prefix), {until}));
  std::sort(keys.begin(), keys.end());
  Found found;
  for (std::size_t at = 0; at < keys.size(); at += kAtOnce) {
    const Keys some(keys.begin() + static_cast<std::ptrdiff_t>(at),
                    keys.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), at + kAtOnce)));
    TRY_ASSIGN(const auto seen, look(group, some, until));
    found.now_us = seen.now_us;
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (seen.rows[i].version != 0) found.rows.emplace_back(some[i], seen.rows[i]);
    }
  }
  return found;
}

/// The highest one is written again: only what is answered is sure to last.
Result<void> RowMemory::fence(const LockName& resource, FencingToken token, TimePoint until) {
  return change(resource, {kFenceRow}, until, [&](const Look& seen, bool) -> Result<Rows::Commit> {
    const Rows::Row& row = seen.rows.front();
    if (row.version != 0) {
      std::string_view text = row.text;
      const auto highest = cut(text, ' ') == "seen" ? FencingToken::parse(text) : Result<FencingToken>(Error{});
      if (!highest) {
        return Error{ErrorCode::kMisconfigured,
                     "what " + rows_->store() + " remembers of " + resource.text() + " is no token",
                     "find out who wrote it; after deleting it the highest token is forgotten"};
      }
      if (token < *highest) return token_too_old(resource, token, highest->text());
    }
    return Rows::Commit{put(kFenceRow, row, std::string(kSeen) + token.text())};
  });
}

Result<std::optional<Participant>> RowMemory::look_up(const LockName& slot, TimePoint until) {
  const LockName key = key_of(slot);
  const std::string row = slot_row(slot);
  return until_answered(until, [&]() -> Result<std::optional<Participant>> {
    const WallTime asked = clock_.wall();
    TRY_ASSIGN(auto seen, look(key, {row}, until));
    const bool there = end_of(row, seen.rows.front()) > seen.now_us;
    if (there) {
      TRY_ASSIGN(seen, look_in_time(key, {row}, until));
    }
    if (end_of(row, seen.rows.front()) <= seen.now_us) return std::optional<Participant>();
    return std::optional(shown({{{row, seen.rows.front()}}, seen.now_us}, asked).front());
  });
}

/// One that is there is written again, whoever's it is: only what is answered is sure to last.
Result<void> RowMemory::remember(const LockName& slot, const SlotRun& run, TimePoint until) {
  const LockName key = key_of(slot);
  const std::int64_t us = microseconds(run.remember);
  const std::string text = std::to_string(us) + " " + run.owner.text() + " " + run.who;
  TRY(change(key, {slot_row(slot), kSweepRow}, until, [&](const Look& seen, bool) -> Result<Rows::Commit> {
    return Rows::Commit{put(slot_row(slot), seen.rows[0], text), sweep_by(seen.now_us + us, seen.rows[1])};
  }));
  (void)sweep_if_due(key, until);  // by the next run, or gc
  return {};
}

Result<void> RowMemory::sweep_if_due(const LockName& key, TimePoint until) {
  TRY_ASSIGN(const auto seen, look(key, {kSweepRow}, until));
  if (sweep_at(seen.rows.front()) > seen.now_us) return {};
  TRY(sweep_key(key, false, until));
  return {};
}

Result<std::vector<Participant>> RowMemory::remembered(const LockName& key, TimePoint until) {
  return until_answered(until, [&]() -> Result<std::vector<Participant>> {
    const WallTime asked = clock_.wall();
    TRY_ASSIGN(auto found, find(key, kSlots, until));
    std::erase_if(found.rows, [&](const auto& one) { return end_of(one.first, one.second) <= found.now_us; });
    return shown(std::move(found), asked);
  });
}

std::vector<Participant> RowMemory::shown(Found found, WallTime asked) const {
  LockState state{.name = *LockName::parse("slots"), .store = {}, .holders = {}, .waiters = {}};
  for (auto& [key, row] : found.rows) state.holders.push_back(runner_of(key.substr(sizeof kSlots - 1), row));
  move_to_our_clock(state, wall(found.now_us), asked, clock_.wall());
  return std::move(state.holders);
}

Result<Participant> RowMemory::forget(const LockName& slot, TimePoint until) {
  const LockName key = key_of(slot);
  std::optional<Participant> known;
  TRY(change(key, {slot_row(slot)}, until, [&](const Look&, bool unsure) -> Result<Rows::Commit> {
    TRY_ASSIGN(const auto seen, look_in_time(key, {slot_row(slot)}, until));
    const Rows::Row& row = seen.rows.front();
    const bool is_over = end_of(slot_row(slot), row) <= seen.now_us;
    if (is_over && unsure && known) return Rows::Commit();
    if (is_over) return not_remembered(slot);
    known = runner_of(std::string(slot.slot()), row);
    return Rows::Commit{remove(slot_row(slot), row)};
  }));
  return std::move(*known);
}

void RowMemory::note_who_frees(const LockName& key, std::span<const std::string> owners, const std::string& by) {
  const TimePoint until = clock_.now() + kNoteBudget;
  for (const std::string& owner : owners) {
    (void)change(key, {freed_row(owner), kSweepRow}, until, [&](const Look& seen, bool) -> Result<Rows::Commit> {
      const Rows::Row& row = seen.rows[0];
      if (by.empty()) return row.version == 0 ? Rows::Commit() : Rows::Commit{remove(freed_row(owner), row)};
      return Rows::Commit{put(freed_row(owner), row, by), sweep_by(seen.now_us + kHourUs, seen.rows[1])};
    });
  }
  if (!by.empty()) (void)sweep_if_due(key, until);
}

std::string RowMemory::who_freed(const LockName& key, const std::string& owner, TimePoint until) {
  const auto seen = look(key, {freed_row(owner)}, until);
  return seen ? seen->rows.front().text : std::string();
}

Result<RowMemory::Leavings> RowMemory::leavings(const LockName& key, TimePoint until) {
  Leavings left;
  for (const char* prefix : {kSlots, kFreed}) {
    TRY_ASSIGN(const auto found, find(key, prefix, until));
    left.now_us = std::max(left.now_us, found.now_us);
    for (const auto& [row_key, row] : found.rows) {
      const std::int64_t end = end_of(row_key, row);
      if (end <= found.now_us) {
        left.removals.push_back({remove(row_key, row)});
        left.swept.push_back(swept_row(key, row_key));
      } else {
        left.first_end = std::min(left.first_end, end);
        left.last_end = std::max(left.last_end, end);
      }
    }
  }
  return left;
}

/// Nothing that came meanwhile is removed: each row goes at the version that was seen to be over, and the whole group
/// only if nothing was written since.
Result<std::vector<Swept>> RowMemory::sweep_key(const LockName& key, bool dry_run, TimePoint until) {
  TRY_ASSIGN(const auto before, look(key, {kFenceRow, kSweepRow}, until));
  TRY_ASSIGN(auto left, leavings(key, until));
  if (dry_run) return std::move(left.swept);
  const Rows::Row& fence = before.rows[0];
  const Rows::Row& next = before.rows[1];
  std::vector<Rows::Commit>& commits = left.removals;
  if (left.first_end == kNever && fence.version == 0) {
    commits = {{check(kFenceRow, fence), check(kSweepRow, next), {Kind::kClear, {}, 0, {}, {}}}};
  } else if (const std::int64_t due = left.next_sweep(); due > sweep_at(next)) {
    commits.push_back({sweep_first_at(due, next)});
  }
  for (auto& number : rows_->commit_each(key, commits, Rows::Tell::kMade, {until})) {
    TRY(std::move(number));
  }
  return std::move(left.swept);
}

Result<std::vector<Swept>> RowMemory::sweep(bool dry_run, Duration patience) {
  TimePoint until = clock_.now() + patience;
  TRY_ASSIGN(const auto keys, until_answered(until, [&] { return rows_->groups({until}); }));
  std::vector<Swept> all;
  for (const LockName& key : keys) {
    until = clock_.now() + patience;
    TRY_ASSIGN(auto swept, until_answered(until, [&] { return sweep_key(key, dry_run, until); }));
    std::move(swept.begin(), swept.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::unique_ptr<KeyMemory> row_memory(std::unique_ptr<Rows> rows, Clock& clock) {
  return std::make_unique<RowMemory>(std::move(rows), clock);
}

}  // namespace dlock
