// SPDX-License-Identifier: Apache-2.0
#include "lib/row_lock/record.h"

#include <algorithm>
#include <utility>

#include "lib/base/text.h"
#include "lib/lock/who_text.h"

namespace dlock {
namespace {

constexpr char kLine = '\n';
constexpr char kWord = ' ';
constexpr char kThen[] = "=";           ///< the number, or the time, of the write
constexpr char kAfterThen = '+';        ///< so long after it
constexpr StoreTime kStep = 1'000'000;  ///< by which clocks of one store may differ

/// A reason is text of one line already; what comes from elsewhere is made so.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), kLine, kWord);
  return text;
}

std::string moment(StoreTime time, std::int64_t lasts) {
  return lasts > 0 ? kAfterThen + std::to_string(lasts) : std::to_string(time);
}

template <typename Number>
std::string number_or_then(Number number) {
  return number == 0 ? kThen : std::to_string(number);
}

template <typename Number>
bool read(std::string_view word, Number& number) {
  const auto whole = whole_number<Number>(word);
  number = whole.value_or(Number{});
  return whole.has_value();
}

bool read_time(std::string_view word, std::int64_t& time) {
  return read(word, time) && time >= 0 && time <= kLatestTime;
}

/// Where a time is counted from.
struct Written {
  std::uint64_t number = 0;
  StoreTime at = 0;

  bool moment(std::string_view word, StoreTime& time) const {
    const bool after = word.starts_with(kAfterThen);
    if (!read_time(word.substr(after ? 1 : 0), time)) return false;
    if (after) time += at;
    return time <= kLatestTime;
  }
  bool since(std::string_view word, StoreTime& time) const {
    if (word != kThen) return read_time(word, time) && time > 0;
    time = at;
    return true;
  }
  bool token(std::string_view word, std::uint64_t& of) const {
    if (word != kThen) return read(word, of) && of > 0;
    of = number;
    return true;
  }
};

bool add_holder(LockRecord& record, std::string_view line, const Written& written) {
  LeaseHolder holder;
  holder.owner = cut(line, kWord);
  const bool fits = written.token(cut(line, kWord), holder.token) && written.since(cut(line, kWord), holder.since) &&
                    written.moment(cut(line, kWord), holder.until) && read_time(cut(line, kWord), holder.delay);
  holder.who = line;
  if (fits && !holder.owner.empty()) record.holders.push_back(std::move(holder));
  return fits && !record.holders.empty();
}

bool add_waiter(LockRecord& record, std::string_view line, const Written& written) {
  LeaseWaiter waiter;
  waiter.owner = cut(line, kWord);
  const auto mode = mode_of_letter(cut(line, kWord));
  waiter.mode = mode.value_or(Mode::kExclusive);
  const bool fits =
      mode && written.since(cut(line, kWord), waiter.since) && written.moment(cut(line, kWord), waiter.until);
  waiter.who = line;
  if (fits && !waiter.owner.empty()) record.waiters.push_back(std::move(waiter));
  return fits && !record.waiters.empty();
}

bool read_head(LockRecord& record, std::string_view line) {
  const auto mode = mode_of_letter(cut(line, kWord));
  record.mode = mode.value_or(Mode::kExclusive);
  return mode && read(line, record.permits) && record.permits >= 0;
}

Participant participant_of(const LeaseHolder& holder, const LockRecord& record, StoreTime now) {
  const bool delay_alone = holder.owner == kNobody;
  Participant participant;
  if (!delay_alone) {
    participant.owner = holder.owner;
    participant.token = FencingToken(holder.token);
    participant.since = wall_time(holder.since);
    add_who(participant, holder.who);
  }
  participant.mode = record.mode;
  if (delay_alone) participant.standing = Standing::kDelayAfterForce;
  else if (holder.until <= now) participant.standing = Standing::kDelayAfterLease;
  participant.until = wall_time(is_delay(participant.standing) ? holder.until + holder.delay : holder.until);
  return participant;
}

Participant participant_of(const LeaseWaiter& waiter) {
  Participant participant;
  participant.owner = waiter.owner;
  participant.mode = waiter.mode;
  participant.since = wall_time(waiter.since);
  add_who(participant, waiter.who);
  return participant;
}

}  // namespace

WallTime wall_time(StoreTime time) {
  return WallTime(std::chrono::microseconds(std::clamp<StoreTime>(time, 0, kLatestTime)));
}

std::int64_t whole_micros(Duration d) { return std::chrono::ceil<std::chrono::microseconds>(d).count(); }

std::optional<Mode> mode_of_letter(std::string_view letter) {
  for (const Mode mode : {Mode::kExclusive, Mode::kShared, Mode::kPermits}) {
    if (letter == mode_letter(mode)) return mode;
  }
  return std::nullopt;
}

std::string encode_record(const LockRecord& record) {
  if (record.holders.empty() && record.waiters.empty()) return {};
  std::string text = mode_letter(record.mode) + (kWord + std::to_string(record.permits)) + kLine;
  for (const LeaseHolder& holder : record.holders) {
    text += std::string("h") + kWord + holder.owner + kWord + number_or_then(holder.token) + kWord +
            number_or_then(holder.since) + kWord + moment(holder.until, holder.lasts) + kWord +
            std::to_string(holder.delay) + kWord + one_line(holder.who) + kLine;
  }
  for (const LeaseWaiter& waiter : record.waiters) {
    text += std::string("w") + kWord + waiter.owner + kWord + mode_letter(waiter.mode) + kWord +
            number_or_then(waiter.since) + kWord + moment(waiter.until, waiter.lasts) + kWord + one_line(waiter.who) +
            kLine;
  }
  return text;
}

std::optional<LockRecord> decode_record(const Rows::Row& row, StoreTime now) {
  LockRecord record;
  record.version = row.version;
  record.ahead = !row.text.empty() && row.written_us > now + kStep;
  if (row.text.empty()) return record;
  const Written written{row.version, record.ahead ? now : row.written_us};
  if (row.text.back() != kLine) return std::nullopt;  // cut short
  std::string_view text = row.text;
  if (!read_head(record, cut(text, kLine))) return std::nullopt;
  while (!text.empty()) {
    std::string_view line = cut(text, kLine);
    const std::string_view kind = cut(line, kWord);
    const bool fits = kind == "h"   ? add_holder(record, line, written)
                      : kind == "w" ? add_waiter(record, line, written)
                                    : false;
    if (!fits) return std::nullopt;
  }
  if (record.holders.empty() && record.waiters.empty()) return std::nullopt;
  return record;
}

LockState state_of(const LockRecord& record, const LockName& name, const std::string& store, StoreTime now) {
  LockState state{name, store, Mode::kExclusive, 0, {}, {}};
  for (const LeaseHolder& holder : record.holders) {
    if (holder.until + holder.delay > now) state.holders.push_back(participant_of(holder, record, now));
  }
  if (!state.holders.empty()) state.mode = record.mode;
  if (state.mode == Mode::kPermits) state.permits = record.permits;
  std::sort(state.holders.begin(), state.holders.end(),
            [](const Participant& a, const Participant& b) { return a.token < b.token; });
  std::vector<Participant> waiters;
  for (const LeaseWaiter& waiter : record.waiters) {
    if (waiter.until > now) waiters.push_back(participant_of(waiter));
  }
  list_waiters(state, std::move(waiters));
  return state;
}

}  // namespace dlock
