// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/view.h"

#include <algorithm>
#include <map>
#include <string>

#include "backends/redis/deployment/families.h"
#include "backends/redis/wire/record.h"
#include "backends/redis/wire/values.h"
#include "lib/base/text.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

/// Another client's value, as its holder is shown.
std::string foreign_owner(std::string_view value) {
  if (is_printable(value)) return std::string(value.substr(0, 128));
  return "0x" + hex(value.substr(0, 64));
}

/// Answer of scripts/read_state.lua: time, type, value, rest of the lease, four lists, and two numbers.
bool is_view(const std::vector<Reply>& parts) {
  if (parts.size() != 10 || !parts[0].is_text() || parts[1].text.empty()) return false;
  if (!parts[2].is_text() || parts[3].kind != Reply::Kind::kInteger) return false;
  if (parts[8].kind != Reply::Kind::kInteger || parts[9].kind != Reply::Kind::kInteger) return false;
  return std::all_of(parts.begin() + 4, parts.begin() + 8,
                     [](const Reply& p) { return p.kind == Reply::Kind::kArray; });
}

class ViewReader {
 public:
  explicit ViewReader(const std::vector<Reply>& parts) : parts_(parts) {}

  void read(LockState& state) {
    const std::int64_t now_ms = leading_number<std::int64_t>(parts_[0].text) / 1000;
    const std::string& kind = parts_[1].text;
    value_ = parts_[2].text;
    remaining_ = parts_[3].integer;
    holders_ = pairs(parts_[4]);
    if (kind == "string" && value_.starts_with("dlock:")) several(state, now_ms);
    else if (kind == "string" && remaining_ != -2) one(state, now_ms);
    else if (kind != "string" && kind != "none") other_family(state, kind, now_ms);
    waiters(state, now_ms);
    state.ever_taken = parts_[9].integer == 1 || !state.holders.empty() || !state.waiters.empty();
    state.forgets = true;
  }

 private:
  void several(LockState& state, std::int64_t now_ms) {
    state.mode = value_ == "dlock:shared" ? Mode::kShared : Mode::kPermits;
    if (state.mode == Mode::kPermits)
      state.permits = static_cast<int>(leading_number<std::int64_t>(value_.substr(value_.rfind(':') + 1)));
    for (const auto& [owner, end] : pairs(parts_[5])) {
      if (leading_number<std::int64_t>(end) <= now_ms) continue;
      Participant participant;
      participant.owner = owner;
      participant.mode = state.mode;
      if (const auto record = holders_.find(owner); record != holders_.end()) add_record(participant, record->second);
      participant.until = from_ms(leading_number<std::int64_t>(end));
      state.holders.push_back(std::move(participant));
    }
    std::sort(state.holders.begin(), state.holders.end(),
              [](const Participant& a, const Participant& b) { return a.token < b.token; });
  }

  void one(LockState& state, std::int64_t now_ms) {
    Participant participant;
    std::int64_t delay = 0;
    if (value_ == "dlock-delay") {
      participant.standing = Standing::kDelayAfterForce;
      participant.stored = value_;
    } else if (const auto record = holders_.find(value_); record != holders_.end()) {
      participant.owner = value_;
      delay = add_record(participant, record->second);
    } else {
      participant.owner = foreign_owner(value_);
      if (participant.owner != value_) participant.stored = value_;
      show_family(participant, "string", value_, remaining_ >= 0);
    }
    if (remaining_ >= 0) participant.until = from_ms(now_ms + remaining_ - delay);
    else if (participant.standing == Standing::kRegular) participant.standing = Standing::kEndless;
    if (delay > 0 && remaining_ >= 0 && remaining_ <= delay) participant.standing = Standing::kDelayAfterLease;
    state.holders.push_back(std::move(participant));
  }

  void other_family(LockState& state, const std::string& kind, std::int64_t now_ms) {
    Participant participant;
    show_family(participant, kind, value_, remaining_ >= 0);
    if (remaining_ >= 0) participant.until = from_ms(now_ms + remaining_);
    state.holders.push_back(std::move(participant));
  }

  /// "ALIVE_MS SINCE_MS MODE POLLS INFO"
  void waiters(LockState& state, std::int64_t now_ms) {
    const std::vector<Reply>& first = parts_[6].elements;
    const std::vector<Reply>& known = parts_[7].elements;
    const auto listed = static_cast<std::int64_t>(std::min(first.size(), known.size()));
    for (std::int64_t i = 0; i < listed; ++i) {
      std::string_view rest = known[i].text;
      if (leading_number<std::int64_t>(cut(rest, ' ')) <= now_ms) continue;
      Participant participant;
      participant.owner = first[i].text;
      participant.since = from_ms(leading_number<std::int64_t>(cut(rest, ' ')));
      const std::string_view mode = cut(rest, ' ');
      if (mode == "w") continue;  // takes nothing
      participant.mode = mode == "s" ? Mode::kShared : mode == "p" ? Mode::kPermits : Mode::kExclusive;
      cut(rest, ' ');
      add_who(participant, rest);
      state.waiters.push_back(std::move(participant));
    }
    state.more_waiters = static_cast<std::size_t>(std::max<std::int64_t>(parts_[8].integer - listed, 0));
  }

  const std::vector<Reply>& parts_;
  std::string value_;
  std::int64_t remaining_ = 0;
  std::map<std::string, std::string> holders_;
};

}  // namespace

bool read_view(const std::vector<Reply>& parts, LockState& state) {
  if (!is_view(parts)) return false;
  ViewReader(parts).read(state);
  return true;
}

}  // namespace dlock::redis
