// SPDX-License-Identifier: Apache-2.0
#include "lib/row_lock/record_store.h"

#include <algorithm>
#include <iterator>

#include "lib/base/random.h"
#include "lib/keeper/insist.h"
#include "lib/rows/row_queue.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using Change = Rows::Change;

constexpr Duration kShortestRest = 1ms;  ///< after a lost race; then longer each time
constexpr Duration kLongestRest = 200ms;

/// Those who may go after a change, and might not when the record was written: since then a lease may have ended.
std::vector<std::string> woken(const RecordReading& read, const LockRecord& next) {
  const auto before = next_owners(read.record, std::min(read.now, static_cast<StoreTime>(read.record.version)));
  auto owners = next_owners(next, read.now);
  std::erase_if(owners,
                [&](const std::string& one) { return std::find(before.begin(), before.end(), one) != before.end(); });
  return owners;
}

}  // namespace

void list_more_waiters(LockState& state, std::vector<Participant> more) {
  std::vector<Participant> all = std::move(state.waiters);
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  list_waiters(state, std::move(all));
}

Duration race_rest(int races) { return jitter(std::min(kLongestRest, kShortestRest * (1 << std::min(races, 8)))); }

Result<RecordReading> RecordStore::understood(const Rows::Row& row, StoreTime now, TimePoint sent) const {
  auto record = decode_record(row, now);
  if (record) return RecordReading{std::move(*record), now, sent};
  return Error{ErrorCode::kMisconfigured, "the record of " + name_.text() + " in " + rows_.store() + " makes no sense",
               "was it written by another version of dlock, or by another program?"};
}

Result<RecordReading> RecordStore::read(const CallLimit& limit) {
  const TimePoint sent = clock_.now();
  const std::string key = kLockRow;
  TRY_ASSIGN(const auto look, rows_.read(name_, {&key, 1}, limit));
  return understood(look.rows.front(), look.now_us, sent);
}

/// As it is after that commit, by the clock that numbers it.
Result<std::optional<RecordReading>> RecordStore::commit(const Rows::Commit& commit, const std::string& text,
                                                         bool leaves, const CallLimit& limit) {
  const TimePoint sent = clock_.now();
  RowQueue* queue = leaves ? rows_.queue() : nullptr;
  const bool head = queue && queue->at_head();
  TRY_ASSIGN(const auto number,
             head ? queue->commit_and_leave(name_, commit, limit) : rows_.commit(name_, commit, limit));
  if (number == 0) return std::optional<RecordReading>();
  const auto at = static_cast<StoreTime>(number);
  TRY_ASSIGN(auto written, understood({text, number, at}, at, sent));
  return std::optional(std::move(written));
}

Result<std::optional<RecordReading>> RecordStore::take_free(const LeaseAsk& ask, const CallLimit& limit) {
  const std::string text = encode_record(first_record(ask));
  return commit({{.kind = Change::Kind::kFill, .key = kLockRow, .text = text}}, text, false, limit);
}

Result<std::optional<RecordReading>> RecordStore::write(const RecordReading& read, const Next& next,
                                                        const CallLimit& limit) {
  const std::string text = encode_record(next.record);
  Rows::Commit all{{Change::Kind::kPut, kLockRow, read.record.version, text}};
  if (next.before > 0)
    all.push_back({.kind = Change::Kind::kBefore, .version = static_cast<Rows::Number>(next.before)});
  std::vector<std::string> tell = woken(read, next.record);
  tell.insert(tell.end(), next.tell.begin(), next.tell.end());
  for (std::string& owner : tell) all.push_back({.kind = Change::Kind::kTell, .key = std::move(owner)});
  return commit(all, text, next.leaves, limit);
}

Result<std::optional<RecordStore::Rewritten>> RecordStore::rewrite(const Make& make, const CallLimit& limit,
                                                                   bool* unanswered,
                                                                   std::optional<RecordReading> known) {
  const auto attempt = [&]() -> Result<std::optional<Rewritten>> {
    for (int races = 0;; ++races) {
      auto reading = known ? Result<RecordReading>(*std::exchange(known, std::nullopt)) : read(limit);
      if (!reading) return reading.error();
      const auto next = make(*reading);
      if (!next) return std::optional<Rewritten>();
      auto written = write(*reading, *next, limit);
      if (!written) {
        const bool unknown = written.error().code == ErrorCode::kUnavailable && !written.error().undone;
        if (unanswered) *unanswered = *unanswered || unknown;
        return written.error();
      }
      if (*written) return std::optional(Rewritten{std::move(*reading), std::move(**written)});
      if (clock_.now() >= limit.until)
        return Error{ErrorCode::kUnavailable, "others change " + name_.text() + " all the time"};
      if (races > 0) clock_.sleep_until(std::min(limit.until, clock_.now() + race_rest(races)));
    }
  };
  return insist(clock_, limit.until, kAskAgainPause, attempt, limit.control).answer;
}

Result<void> RecordStore::add_queue(LockState& state, const CallLimit& limit) {
  RowQueue* queue = rows_.queue();
  if (!queue) return {};
  TRY_ASSIGN(auto waiting, queue->waiters(&name_, limit));
  list_more_waiters(state, std::move(waiting[name_.text()]));
  return {};
}

Result<bool> RecordStore::forget(const Rows::Row& free, const CallLimit& limit) {
  const Rows::Commit all{{.kind = Change::Kind::kCheck, .key = kLockRow, .version = free.version},
                         {.kind = Change::Kind::kClear}};
  TRY_ASSIGN(const auto done, rows_.commit(name_, all, limit));
  return done > 0;
}

}  // namespace dlock
