// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/record.h"

#include <algorithm>

#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

constexpr char kLine = '\n';
constexpr char kWord = ' ';

template <typename Number>
bool read(std::string_view& rest, Number& number) {
  const auto whole = whole_number<Number>(cut(rest, kWord));
  number = whole.value_or(Number{});
  return whole.has_value();
}

bool read_time(std::string_view& rest, std::int64_t& time) {
  return read(rest, time) && time >= 0 && time <= kLatestTime;
}

std::vector<std::string> words(std::string_view list) {
  std::vector<std::string> all;
  while (!list.empty()) all.emplace_back(cut(list, ','));
  return all;
}

/// A reason is text of one line already; what comes from elsewhere is made so.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), kLine, kWord);
  return text;
}

/// The part after the connection.
std::string rest_of(const LeaseHolder& holder) {
  std::string entries;
  for (const std::string& entry : holder.entries) entries += (entries.empty() ? "" : ",") + entry;
  return kWord + entries + kWord + one_line(holder.who) + kLine;
}

}  // namespace

WallTime wall_time(ServerTime time) {
  return WallTime(std::chrono::microseconds(std::clamp<ServerTime>(time, 0, kLatestTime)));
}

std::string encode_holders(const std::vector<LeaseHolder>& holders) {
  std::string text;
  for (const LeaseHolder& holder : holders) {
    text += holder.owner + kWord + std::to_string(holder.token) + kWord + std::to_string(holder.since) + kWord +
            std::to_string(holder.until) + kWord + std::to_string(holder.delay) + kWord +
            std::to_string(holder.connection) + rest_of(holder);
  }
  return text;
}

std::string encode_in_sql(const LeaseHolder& holder, const HolderInSql& known) {
  const std::string word = "," + literal(std::string(1, kWord)) + ",";
  return "CONCAT(" + literal(holder.owner + kWord) + "," + known.token + word + known.since + word + known.until + "," +
         literal(kWord + std::to_string(holder.delay) + kWord) + "," + known.connection + "," +
         literal(rest_of(holder)) + ")";
}

std::optional<std::vector<LeaseHolder>> decode_holders(std::string_view text) {
  std::vector<LeaseHolder> holders;
  while (!text.empty()) {
    if (text.find(kLine) == std::string_view::npos) return std::nullopt;  // cut short
    std::string_view line = cut(text, kLine);
    LeaseHolder holder;
    holder.owner = cut(line, kWord);
    const bool numbers = read(line, holder.token) && read_time(line, holder.since) && read_time(line, holder.until) &&
                         read_time(line, holder.delay) && read(line, holder.connection);
    if (holder.owner.empty() || !numbers) return std::nullopt;
    holder.entries = words(cut(line, kWord));
    holder.who = line;
    holders.push_back(std::move(holder));
  }
  return holders;
}

std::optional<Mode> mode_of_letter(std::string_view letter) {
  for (const Mode mode : {Mode::kExclusive, Mode::kShared, Mode::kPermits}) {
    if (letter == mode_letter(mode)) return mode;
  }
  return std::nullopt;
}

Participant participant_of(const LeaseHolder& holder) {
  Participant participant;
  participant.owner = holder.owner;
  participant.token = FencingToken(holder.token);
  participant.since = wall_time(holder.since);
  participant.count = std::max(1, static_cast<int>(holder.entries.size()));
  add_who(participant, holder.who);
  return participant;
}

LockState state_of(const LeaseRow& row, const LockName& name, const std::string& store, ServerTime now) {
  LockState state{name, store, row.holders.empty() ? Mode::kExclusive : row.mode, 0, {}, {}};
  if (state.mode == Mode::kPermits) state.permits = row.permits;
  for (const LeaseHolder& holder : row.holders) {
    if (holder.until + holder.delay <= now) continue;
    const bool delay_alone = holder.owner == "-";
    Participant participant = delay_alone ? Participant() : participant_of(holder);
    participant.mode = row.mode;
    participant.until = wall_time(holder.until);
    if (delay_alone) participant.standing = Standing::kDelayAfterForce;
    else if (holder.until <= now) participant.standing = Standing::kDelayAfterLease;
    state.holders.push_back(std::move(participant));
  }
  std::sort(state.holders.begin(), state.holders.end(),
            [](const Participant& a, const Participant& b) { return a.token < b.token; });
  return state;
}

}  // namespace dlock::mysql
