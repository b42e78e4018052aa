// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/layout.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/families.h"
#include "backends/redis/deployment/record.h"
#include "backends/redis/native/scripts.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/slots.h"
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
      std::int64_t delay = 0;
      if (const auto record = holders_.find(owner); record != holders_.end())
        delay = add_record(participant, record->second);
      end_at(participant, now_ms, leading_number<std::int64_t>(end) - now_ms, delay);
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
    if (remaining_ >= 0) end_at(participant, now_ms, remaining_, delay);
    else if (participant.standing == Standing::kRegular) participant.standing = Standing::kEndless;
    state.holders.push_back(std::move(participant));
  }

  /// `delay`: what is left of it comes after the lease.
  static void end_at(Participant& participant, std::int64_t now_ms, std::int64_t left_ms, std::int64_t delay) {
    const bool over = delay > 0 && left_ms <= delay;
    if (over) participant.standing = Standing::kDelayAfterLease;
    participant.until = from_ms(now_ms + left_ms - (over ? 0 : delay));
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

/// Fills the holders and waiters of `state`, which has its name and store, from the answer of scripts/read_state.lua of
/// the native layout. False for parts that the script cannot have answered.
bool read_view(const std::vector<Reply>& parts, LockState& state) {
  if (!is_view(parts)) return false;
  ViewReader(parts).read(state);
  return true;
}

/// Number of keys that a script gets: all that every script knows, and those that are there while a lock is held by
/// one holder, or by several. A cluster refuses a script while its slot moves if one of its keys is not there.
constexpr std::size_t kAllKeys = 6;
constexpr std::size_t kKeysOfOne = 3;
constexpr std::size_t kKeysOfSeveral = 4;

/// Arguments of a script about the holders that were shown, after `words`: owner, token, owner, token, ...
std::vector<std::string> with_holders(std::vector<std::string> words, const LockState& shown) {
  std::vector<std::string> arguments = std::move(words);
  for (const Participant& participant : shown.holders) {
    arguments.push_back(participant.stored.empty() ? participant.owner : participant.stored);
    arguments.push_back(participant.token.text());
  }
  return arguments;
}

}  // namespace

Command NativeLayout::command_of(const char* script, std::size_t keys, std::vector<std::string> arguments) const {
  const NativeNames& n = beside_;
  Command command{"EVAL", script, std::to_string(keys)};
  command.reserve(keys + 4 + arguments.size());
  for (const auto* key : {&n.key, &n.fence, &n.holders, &n.until, &n.queue, &n.waiting}) {
    if (command.size() < keys + 3) command.push_back(*key);
  }
  command.push_back(n.wake);
  command.insert(command.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return command;
}

Result<AttemptAnswer> NativeLayout::acquire(const NativeAsk& ask, TimePoint until, Control* control) {
  several_ = ask.mode != Mode::kExclusive;
  delay_ = ask.lock_delay;
  std::string flags;
  if (ask.enqueue) flags += 'e';
  if (ask.fair) flags += 'f';
  if (ask.polls) flags += 'p';
  if (!ask.take) flags += 'w';
  auto answer = run_confirmed(
      command_of(
          native_scripts::kAcquire, kAllKeys,
          {ask.owner.text(), mode_letter(ask.mode), ms_text(ask.ttl + ask.lock_delay), std::to_string(ask.permits),
           ask.info, flags, ask.arrival, ms_text(ask.lock_delay), ms_text(ask.alive), slots_text(ask.slots)}),
      [](const Answer& e) { return e[0].text == "granted"; }, until, control);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  const std::string& word = e[0].text;
  if (word == "free" && !ask.take) return AttemptAnswer(AttemptGranted{.token = {}, .free_only = true});
  if (word == "granted" && (e.size() == 2 || e.size() == 3)) {
    const auto token = FencingToken::parse(e[1].text);
    if (!token) return not_understood(store_);
    return AttemptAnswer(AttemptGranted{*token, e.size() == 3 ? e[2].text : std::string()});
  }
  if (word == "busy" && e.size() == 6) {
    return AttemptAnswer(AttemptBusy{lease_left(e[1].integer), static_cast<int>(e[2].integer), e[3].text,
                                     e[4].integer == 1, e[5].integer == 1});
  }
  if (word == "conflict" && e.size() == 2 && e[1].text.starts_with("dlock:")) {
    const std::string held = e[1].text == "dlock:shared"
                                 ? "shared"
                                 : "with --permits " + printable(e[1].text.substr(e[1].text.rfind(':') + 1), 16);
    return held_otherwise(name_, held);
  }
  return not_understood(store_);
}

/// Put together once: after seconds of sleep each piece of code and each string would have to be fetched again.
const std::vector<Command>& NativeLayout::renewal_of(const Owner& owner, Duration ttl, bool exact,
                                                     const std::string& ran) {
  const bool same = renewal_ && renewal_->owner == owner && renewal_->ttl == ttl && renewal_->exact == exact &&
                    renewal_->several == several_;
  if (!same || !ran.empty()) {
    renewal_ = Renewal{owner, ttl, exact, several_, {}};
    renewal_->request.push_back(command_of(native_scripts::kRenew, several_ ? kKeysOfSeveral : kKeysOfOne,
                                           {owner.text(), ms_text(ttl), exact ? "1" : "0"}));
    if (!ran.empty()) renewal_->request.back().push_back(ran_word(ran));
    renewal_->request.back()[4] = beside_.key;  // in the place of the token, which a renewal leaves alone
  }
  return renewal_->request;
}

Result<FencingToken> NativeLayout::renew(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                         TimePoint until, Control* control) {
  auto answer =
      unless_split([&] { return run_confirmed(renewal_of(owner, ttl, exact, ran), is_renewed, until, control); });
  if (!answer && deployment_.is_split()) return renew_split(owner, ttl, exact, ran, until, control);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  if (!several_ && e[0].text == "lost" && e.size() > 1 && e[1].text.starts_with("dlock:")) {
    several_ = true;  // the hold around us, or a lease of `acquire`
    return renew(owner, ttl, exact, ran, until, control);
  }
  if (e[0].text == "renewed" && (e.size() == 3 || e.size() == 4)) {
    revoked_ = e.size() == 4 ? e[3].text : std::string();
    return FencingToken(static_cast<std::uint64_t>(leading_number<std::int64_t>(e[2].text)));
  }
  if (e[0].text != "lost") return not_understood(store_);
  return lost(e);
}

Error NativeLayout::lost(const Answer& answer) const {
  const bool free = answer.size() < 2 || answer[1].text.empty() || several_;  // a shared hold excludes no shared one
  return {ErrorCode::kLost, free
                                ? store_ + " no longer has this lock (it expired, was deleted, or the server forgot it)"
                                : "it has another holder on " + store_};
}

Result<FencingToken> NativeLayout::renew_split(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                               TimePoint until, Control* control) {
  const std::string record = keep_record(owner, ttl, ran, until, control);
  Participant known;
  const Duration delay = record.empty() ? delay_ : std::chrono::milliseconds(add_record(known, record));
  TRY_ASSIGN(const auto renewed, renew_keys(owner, ttl, exact, delay, until, control));
  if (renewed.front().text == "lost") return lost(renewed);
  if (!is_renewed(renewed)) return not_understood(store_);
  revoked_ = revocation_of(record);
  return known.token;
}

/// The lease counts from the first of these, whose key is the lock's own.
Result<Layout::Answer> NativeLayout::renew_keys(const Owner& owner, Duration ttl, bool exact, Duration delay,
                                                TimePoint until, Control* control) {
  const std::vector<std::string> lease{owner.text(), ms_text(ttl), exact ? "1" : "0", ms_text(delay)};
  Command lock{"EVAL", native_scripts::kRenewLock, "1", beside_.key, beside_.wake};
  lock.insert(lock.end(), lease.begin(), lease.end());
  auto answer = run_confirmed(
      std::move(lock), [](const Answer& e) { return e[0].text != "lost"; }, until, control);
  if (!answer || answer->front().text != "several") return answer;
  several_ = true;
  const TimePoint first = sent();
  Command end{"EVAL", native_scripts::kRenewEnd, "1", beside_.until};
  end.insert(end.end(), lease.begin(), lease.end());
  answer = run_confirmed(std::move(end), is_renewed, until, control);
  count_from(first);
  return answer;
}

Result<void> NativeLayout::release(const Owner& owner, const Owner* entry, TimePoint until) {
  auto answer = unless_split([&] {
    return run(command_of(native_scripts::kRelease, kAllKeys, {owner.text(), entry ? entry->text() : ""}), until,
               nullptr);
  });
  if (!answer && deployment_.is_split()) return release_split(owner, until);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  if (e[0].text == "released") return {};
  if (e[0].text == "gone") return not_held(name_);
  return not_understood(store_);
}

/// Out of the queue, too, as far as that is reached.
Result<void> NativeLayout::release_split(const Owner& owner, TimePoint until) {
  TRY_ASSIGN(const auto answer,
             run({"EVAL", native_scripts::kReleaseLock, "1", beside_.key, beside_.wake, owner.text()}, until, nullptr));
  bool released = answer.front().text == "released";
  const auto remove = [&](const char* command, const std::string& key) {
    return deployment_.call(beside_.key, {{command, key, owner.text()}}, until, nullptr);
  };
  if (answer.front().text == "several") {
    TRY_ASSIGN(const auto removed, remove("ZREM", beside_.until));
    if (auto error = error_of(removed.front(), store_)) return *error;
    released = removed.front().integer == 1;
  }
  (void)remove("HDEL", beside_.holders);
  (void)remove("ZREM", beside_.queue);
  (void)remove("HDEL", beside_.waiting);
  return released ? Result<void>() : not_held(name_);
}

Result<void> NativeLayout::force(const LockState& shown, TimePoint until) {
  const bool delay_alone = std::all_of(shown.holders.begin(), shown.holders.end(),
                                       [](const Participant& holder) { return is_delay(holder.standing); });
  std::vector<std::string> words = with_holders({delay_alone ? "1" : "0"}, shown);
  TRY_ASSIGN(auto answer, run(command_of(native_scripts::kForce, kAllKeys, std::move(words)), until, nullptr));
  const std::string& word = answer.front().text;
  if (word == "freed") return {};
  if (word == "conflict") return other_holders(name_);
  if (word == "foreign") {
    return Error{ErrorCode::kUnsupported, name_.text() + " is held by another lock family, which dlock does not delete",
                 "free it with the client that took it"};
  }
  return not_understood(store_);
}

Result<void> NativeLayout::revoke(const LockState& shown, const std::string& by, TimePoint until) {
  auto answer = unless_split(
      [&] { return run(command_of(native_scripts::kRevoke, kAllKeys, with_holders({by}, shown)), until, nullptr); });
  if (!answer && deployment_.is_split()) {
    Command command{"EVAL", native_scripts::kRevokeRecord, "1", beside_.holders, beside_.wake};
    for (std::string& word : with_holders({by}, shown)) command.push_back(std::move(word));
    answer = run(std::move(command), until, nullptr);
  }
  if (!answer) return answer.error();
  const Answer& e = *answer;
  if (e[0].text == "foreign") return cannot_be_asked(name_, "another client than dlock has it");
  if (e[0].text != "asked" || e.size() != 2) return not_understood(store_);
  return e[1].integer > 0 ? Result<void>() : other_holders(name_);
}

Result<LockState> NativeLayout::read_state(TimePoint until, Control* control) {
  auto state = unless_split([&] { return Layout::read_state(until, control); });
  return !state && deployment_.is_split() ? read_split(until, control) : std::move(state);
}

/// Who waits is left out: it may be anywhere.
Result<LockState> NativeLayout::read_split(TimePoint until, Control* control) {
  const WallTime asked = clock_.wall();
  TRY_ASSIGN(auto parts, run({"EVAL", native_scripts::kReadLock, "1", beside_.key, beside_.wake}, until, control));
  const Command beside[] = {{"HGETALL", beside_.holders}, {"ZRANGE", beside_.until, "0", "-1", "WITHSCORES"}};
  for (const Command& command : beside) {
    TRY_ASSIGN(auto reply, deployment_.call(beside_.key, {command}, until, control));
    if (auto error = error_of(reply.front(), store_)) return *error;
    parts.push_back(std::move(reply.front()));
  }
  const Reply none{Reply::Kind::kArray, "", 0, {}};
  const Reply zero{Reply::Kind::kInteger, "", 0, {}};
  parts.insert(parts.end(), {none, none, zero, zero});
  auto state = understood(parts, asked);
  if (state) state->waiters_known = false;
  return state;
}

Command NativeLayout::state_command() const { return command_of(native_scripts::kReadState, kAllKeys, {}); }

Result<LockState> NativeLayout::understood(const Answer& parts, WallTime asked) {
  LockState state{name_, store_, Mode::kExclusive, 0, {}, {}};
  if (!read_view(parts, state)) return not_understood(store_);
  move_to_our_clock(state, server_time(parts.front()), asked, clock_.wall());
  return state;
}

}  // namespace dlock::redis
