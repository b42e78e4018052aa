// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/view.h"

#include <algorithm>
#include <map>
#include <string>

#include "backends/redis/deployment/families.h"
#include "backends/redis/redisson/rules.h"
#include "backends/redis/wire/record.h"
#include "backends/redis/wire/values.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

constexpr std::string_view kWriter = ":write";
/// Redisson's value for a permit without a lease: the largest number of milliseconds that it can add to.
constexpr std::int64_t kNever = 922337203685477;

void add_note(Participant& participant, const std::string& note) {
  participant.note += (participant.note.empty() ? "" : ", ") + note;
}

/// Answer of scripts/read_state.lua: time, type, rest of the lease, what is at the key, and three lists.
bool is_look(const std::vector<Reply>& parts) {
  if (parts.size() != 7 || !parts[0].is_text() || parts[1].text.empty()) return false;
  if (parts[2].kind != Reply::Kind::kInteger) return false;
  return std::all_of(parts.begin() + 3, parts.end(), [](const Reply& p) { return p.kind == Reply::Kind::kArray; });
}

class RedissonView {
 public:
  RedissonView(RedissonKind kind, const std::vector<Reply>& parts, LockState& state)
      : kind_(kind),
        state_(state),
        now_ms_(leading_number<std::int64_t>(parts[0].text) / 1000),
        type_(parts[1].text),
        remaining_(parts[2].integer),
        content_(parts[3]),
        records_(pairs(parts[4])),
        extra_(parts[5]),
        waiting_(pairs(parts[6])) {}

  void read() {
    state_.waiters_known = kind_ == RedissonKind::kFair;
    if (hands_out_permits(kind_)) permits();
    else if (type_ == "hash") hash();
    else if (type_ != "none") other_family(type_ == "string" ? content_.elements.front().text : "");
    if (kind_ == RedissonKind::kFair) waiters();
  }

 private:
  Participant participant_of(const std::string& field, bool holds) const {
    Participant participant;
    const auto owner = owner_of_field(kind_, field);
    const auto record = holds ? records_.find(field) : records_.end();
    if (record != records_.end()) {
      add_record(participant, record->second);
    } else if (const auto waits = waiting_.find(field); !holds && waits != waiting_.end()) {
      std::string_view rest = waits->second;
      participant.since = from_ms(leading_number<std::int64_t>(cut(rest, ' ')));
      add_who(participant, rest);
    } else {
      participant.owner = kind_ == RedissonKind::kPermits ? hex(field) : printable(field, 128);
      participant.stored = field;
      if (holds) add_note(participant, "a Redisson client's");
      return participant;
    }
    participant.owner = owner ? owner->text() : field;
    return participant;
  }

  void add_end(Participant& participant, std::int64_t remaining) const {
    if (remaining >= 0) participant.until = from_ms(now_ms_ + remaining);
    else if (participant.standing == Standing::kRegular) participant.standing = Standing::kEndless;
  }

  void hash() {
    const auto fields = pairs(content_);
    const auto mode = fields.find("mode");
    if (mode != fields.end()) return readers_and_writer(fields, mode->second);
    for (const auto& [field, count] : fields) {
      if (!is_redisson_owner(field)) return other_family(field);
      Participant participant = participant_of(field, true);
      participant.count = leading_number<int>(count);
      if (kind_ == RedissonKind::kFenced && participant.token == FencingToken() && !extra_.elements.empty()) {
        const auto counter = leading_number<std::int64_t>(extra_.elements.front().text);
        participant.token = FencingToken(static_cast<std::uint64_t>(counter));
      }
      if (kind_ == RedissonKind::kReadWrite) add_note(participant, family_of("hash", field, true).note);
      add_end(participant, remaining_);
      state_.holders.push_back(std::move(participant));
    }
  }

  void readers_and_writer(const std::map<std::string, std::string>& fields, const std::string& mode) {
    const bool ours = kind_ == RedissonKind::kReadWrite;
    if (mode != "read" && mode != "write") return other_family(mode);
    state_.mode = mode == "read" ? Mode::kShared : Mode::kExclusive;
    const auto ends = pairs(extra_);
    std::vector<Participant> over;
    for (const auto& [field, count] : fields) {
      if (field == "mode") continue;
      const bool writes = field.ends_with(kWriter);
      const std::string holder = writes ? field.substr(0, field.size() - kWriter.size()) : field;
      if (!writes && fields.count(field + std::string(kWriter)) > 0) continue;  // shown as the writer
      Participant participant = participant_of(holder, true);
      participant.mode = writes ? Mode::kExclusive : Mode::kShared;
      participant.count = leading_number<int>(count);
      const auto end = ends.find(holder);
      if (!ours) add_note(participant, family_of("hash", mode, true).note);
      if (!writes && ours && (end == ends.end() || leading_number<std::int64_t>(end->second) < 0)) {
        participant.standing = Standing::kLeaseOver;
        over.push_back(std::move(participant));
        continue;
      }
      add_end(participant, writes || !ours ? remaining_ : leading_number<std::int64_t>(end->second));
      state_.holders.push_back(std::move(participant));
    }
    if (state_.holders.empty()) state_.holders = std::move(over);
  }

  /// The holders of a semaphore, as far as they stand in dlock's own books: Redisson notes none.
  void permits() {
    if (type_ == "none") return;
    const std::string value = content_.elements.empty() ? "" : content_.elements.front().text;
    if (type_ == "hash") {
      const auto fields = pairs(content_);
      const auto mode = fields.find("mode");
      return other_family(mode == fields.end() ? value : mode->second);
    }
    if (!is_count(value)) return other_family(value);
    state_.mode = Mode::kPermits;
    for (std::size_t i = 0; i + 1 < extra_.elements.size(); i += 2) {
      const std::int64_t end = leading_number<std::int64_t>(extra_.elements[i + 1].text);
      if (end <= now_ms_) continue;
      Participant participant = participant_of(extra_.elements[i].text, true);
      participant.mode = Mode::kPermits;
      if (end < kNever) participant.until = from_ms(end);
      else participant.standing = Standing::kEndless;
      state_.holders.push_back(std::move(participant));
    }
    state_.permits = leading_number<int>(value) + static_cast<int>(state_.holders.size());
    if (state_.permits > 0 || kind_ == RedissonKind::kPermits) return;
    Participant nobody;
    nobody.mode = Mode::kPermits;
    nobody.note = "none is left, and a semaphore does not say who has them";
    state_.holders.push_back(std::move(nobody));
  }

  void other_family(const std::string& sign) {
    Participant participant;
    if (const auto record = records_.find(sign); type_ == "string" && record != records_.end()) {
      add_record(participant, record->second);
      participant.owner = sign;
      add_note(participant, "held in dlock's own layout; leave ?layout=redisson out");
    } else {
      show_family(participant, type_, sign, remaining_ >= 0);
    }
    add_end(participant, remaining_);
    state_.holders.push_back(std::move(participant));
  }

  void waiters() {
    for (std::size_t i = 0; i + 1 < extra_.elements.size(); i += 2) {
      const auto end = leading_number<std::int64_t>(extra_.elements[i + 1].text);
      if (end <= now_ms_) continue;
      const std::string& field = extra_.elements[i].text;
      state_.waiters.push_back(participant_of(field, false));
      if (waiting_.count(field) > 0) continue;
      state_.waiters.back().standing = Standing::kUnheard;
      state_.waiters.back().until = from_ms(end);
    }
  }

  const RedissonKind kind_;
  LockState& state_;
  const std::int64_t now_ms_;
  const std::string type_;
  const std::int64_t remaining_;
  const Reply& content_;
  const std::map<std::string, std::string> records_;
  const Reply& extra_;
  const std::map<std::string, std::string> waiting_;
};

}  // namespace

bool read_redisson_view(RedissonKind kind, const std::vector<Reply>& parts, LockState& state) {
  if (!is_look(parts)) return false;
  if (parts[1].text == "string" && parts[3].elements.empty()) return false;
  RedissonView(kind, parts, state).read();
  return true;
}

}  // namespace dlock::redis
