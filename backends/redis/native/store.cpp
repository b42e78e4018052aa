// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/store.h"

#include <cstdlib>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/native/scripts.h"
#include "backends/redis/native/view.h"
#include "backends/redis/wire/values.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/slots.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

/// Number of keys that a script gets: all that every script knows, and those that are there while a lock is held by
/// one holder, or by several. A cluster refuses a script while its slot moves if one of its keys is not there.
constexpr std::size_t kAllKeys = 6;
constexpr std::size_t kKeysOfOne = 3;
constexpr std::size_t kKeysOfSeveral = 4;
constexpr std::size_t kKeysToForce = 7;

/// Arguments of a script about the holders that were shown, after `by`: owner, token, owner, token, ...
std::vector<std::string> shown_to(const std::string& by, const LockState& shown) {
  std::vector<std::string> arguments{by};
  for (const Participant& participant : shown.holders) {
    arguments.push_back(participant.stored.empty() ? participant.owner : participant.stored);
    arguments.push_back(participant.token.text());
  }
  return arguments;
}

}  // namespace

Command NativeStore::command_of(const char* script, std::size_t keys, std::vector<std::string> arguments) const {
  const NativeNames& n = beside_;
  Command command{"EVAL", script, std::to_string(keys)};
  command.reserve(keys + 4 + arguments.size());
  for (const auto* key : {&n.key, &n.fence, &n.holders, &n.until, &n.queue, &n.waiting, &n.forced}) {
    if (command.size() < keys + 3) command.push_back(*key);
  }
  command.push_back(n.wake);
  command.insert(command.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return command;
}

Result<ScriptAnswer> NativeStore::acquire(const NativeAsk& ask, TimePoint until, Control* control) {
  several_ = ask.mode != Mode::kExclusive;
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
  if (word == "free" && !ask.take) return ScriptAnswer(ScriptGrant{.token = {}, .free_only = true});
  if (word == "granted" && (e.size() == 2 || e.size() == 3)) {
    const auto token = FencingToken::parse(e[1].text);
    if (!token) return not_understood(store_);
    return ScriptAnswer(ScriptGrant{*token, e.size() == 3 ? e[2].text : std::string()});
  }
  if (word == "busy" && e.size() == 6) {
    return ScriptAnswer(ScriptBusy{lease_left(e[1].integer), static_cast<int>(e[2].integer), e[3].text,
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

/// Put together once: after seconds of sleep each piece of code and each string would have to be fetched anew.
const std::vector<Command>& NativeStore::renewal_of(const Owner& owner, Duration ttl, bool exact,
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

Result<FencingToken> NativeStore::renew(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                        TimePoint until, Control* control) {
  auto answer = run_confirmed(
      renewal_of(owner, ttl, exact, ran), [](const Answer& e) { return e[0].text == "renewed"; }, until, control);
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
  const bool free = e.size() < 2 || e[1].text.empty() || several_;  // a shared hold excludes no other shared one
  return Error{ErrorCode::kLost,
               free ? store_ + " has no such lock any more (it expired, was deleted, or the server forgot it)"
                    : "somebody else holds it on " + store_};
}

Result<void> NativeStore::release(const Owner& owner, const Owner* entry, TimePoint until) {
  auto answer =
      run(command_of(native_scripts::kRelease, kAllKeys, {owner.text(), entry ? entry->text() : ""}), until, nullptr);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  if (e[0].text == "released") return {};
  if (e[0].text == "gone") return not_held(name_);
  return not_understood(store_);
}

Result<void> NativeStore::force(const LockState& shown, const std::string& by, TimePoint until) {
  auto answer = run(command_of(native_scripts::kForce, kKeysToForce, shown_to(by, shown)), until, nullptr);
  if (!answer) return answer.error();
  const std::string& word = answer->front().text;
  if (word == "freed") return {};
  if (word == "conflict") return other_holders(name_);
  if (word == "foreign") {
    return Error{ErrorCode::kUnsupported, name_.text() + " is held by another lock family, which dlock does not delete",
                 "free it with the client that took it"};
  }
  return not_understood(store_);
}

Result<void> NativeStore::revoke(const LockState& shown, const std::string& by, TimePoint until) {
  auto answer = run(command_of(native_scripts::kRevoke, kAllKeys, shown_to(by, shown)), until, nullptr);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  if (e[0].text == "foreign") return cannot_be_asked(name_, "another client than dlock has it");
  if (e[0].text != "asked" || e.size() != 2) return not_understood(store_);
  return e[1].integer > 0 ? Result<void>() : other_holders(name_);
}

Command NativeStore::state_command() const { return command_of(native_scripts::kReadState, kAllKeys, {}); }

Result<LockState> NativeStore::understood(const Answer& parts, WallTime asked) {
  LockState state{name_, store_, Mode::kExclusive, 0, {}, {}};
  if (!read_view(parts, state)) return not_understood(store_);
  move_to_our_clock(state, server_time(parts.front()), asked, clock_.wall());
  return state;
}

}  // namespace dlock::redis
