// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/store.h"

#include <iterator>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/redisson/rules.h"
#include "backends/redis/redisson/scripts.h"
#include "backends/redis/redisson/view.h"
#include "backends/redis/wire/values.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

namespace lua = redisson_scripts;

struct Scripts {
  const char* acquire;
  const char* renew;
  const char* release;
  const char* force;
};

Scripts scripts_of(RedissonKind kind) {
  switch (kind) {
    case RedissonKind::kLock:
    case RedissonKind::kSpin:
    case RedissonKind::kFenced:
      return {lua::kLockAcquire, lua::kLockRenew, lua::kLockRelease, lua::kLockForce};
    case RedissonKind::kFair:
      return {lua::kFairAcquire, lua::kLockRenew, lua::kLockRelease, lua::kLockForce};
    case RedissonKind::kReadWrite:
      return {lua::kRwAcquire, lua::kRwRenew, lua::kRwRelease, lua::kRwForce};
    case RedissonKind::kSemaphore:
    case RedissonKind::kPermits:
      return {lua::kPermitsAcquire, lua::kPermitsRenew, lua::kPermitsRelease, lua::kPermitsForce};
  }
  return {};
}

/// Redisson does not know who has the permits of a semaphore: dlock keeps a list of its own.
std::string whose_ledger(RedissonKind kind) { return kind == RedissonKind::kSemaphore ? "own" : ""; }

FencingToken token_of(const Reply& reply) {
  return FencingToken(static_cast<std::uint64_t>(leading_number<std::int64_t>(reply.text)));
}

}  // namespace

Command RedissonStore::command_of(const char* script, const std::string& me, std::vector<std::string> arguments) const {
  const NativeNames& beside = names_.beside;
  // A cluster refuses a script while its slot moves if one of its keys is not there: a renewal names those that are.
  std::vector<std::string> keys{beside.key, beside.holders};
  const bool renews = script == scripts_of(kind_).renew;
  if (!renews) keys.push_back(beside.forced);
  if (!renews || hands_out_permits(kind_)) keys.insert(keys.end(), names_.others.begin(), names_.others.end());
  Command command{"EVAL", script, std::to_string(keys.size())};
  command.insert(command.end(), std::make_move_iterator(keys.begin()), std::make_move_iterator(keys.end()));
  command.insert(command.end(), {names_.channel, names_.sharded ? "PUBLISH,SPUBLISH" : "PUBLISH", names_.stem, me});
  command.insert(command.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return command;
}

Result<ScriptAnswer> RedissonStore::acquire(const RedissonAsk& ask, TimePoint until, Control* control) {
  auto answer = run_confirmed(
      command_of(scripts_of(kind_).acquire, holder_of(ask.owner),
                 {ask.owner.text(), ms_text(ask.ttl), ask.info, mode_letter(ask.mode), ask.enqueue ? "q" : "",
                  std::to_string(ask.permits), ms_text(kFairWait), whose_ledger(kind_)}),
      [](const Answer& e) { return e[0].text == "granted"; }, until, control);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  const std::string& word = e[0].text;
  if (word == "granted" && e.size() == 2) return ScriptAnswer(ScriptGrant{token_of(e[1])});
  if (word == "busy" && e.size() == 4) {
    return ScriptAnswer(ScriptBusy{lease_left(e[1].integer), static_cast<int>(e[2].integer), {}, e[3].integer == 1});
  }
  if (word == "conflict" && e.size() == 2) {
    return Error{ErrorCode::kConflict, name_.text() + ": " + printable(e[1].text, kForeignWords),
                 "all callers of one key must agree: see dlock inspect " + name_.typed()};
  }
  if (word == "bad" && e.size() == 2) {
    return Error{
        ErrorCode::kMisconfigured,
        name_.text() + " on " + store_ + " is not what Redisson writes: " + printable(e[1].text, kForeignWords),
        "see who writes there, or name another ?kind="};
  }
  return not_understood(store_);
}

Result<FencingToken> RedissonStore::renew(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                          TimePoint until, Control* control) {
  auto answer = run_confirmed(
      command_of(scripts_of(kind_).renew, holder_of(owner),
                 {ms_text(ttl), exact ? "1" : "0", ran.empty() ? "" : ran_word(ran), whose_ledger(kind_)}),
      [](const Answer& e) { return e[0].text == "renewed"; }, until, control);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  if (e.size() != 2) return not_understood(store_);
  if (e[0].text == "renewed") return token_of(e[1]);
  if (e[0].text != "lost") return not_understood(store_);
  // Another's permit was not taken from us: ours has ended by itself.
  return Error{ErrorCode::kLost, e[1].text == "free" || hands_out_permits(kind_)
                                     ? store_ +
                                           " has no such lock any more (it expired, was force-unlocked, or the "
                                           "server forgot it)"
                                     : "somebody else holds it on " + store_};
}

Result<void> RedissonStore::release(const Owner& owner, const Owner* entry, TimePoint until) {
  auto answer =
      run(command_of(scripts_of(kind_).release, holder_of(owner), release_arguments(kind_, entry ? entry->text() : "")),
          until, nullptr);
  if (!answer) return answer.error();
  const std::string& word = answer->front().text;
  if (word == "released") return {};
  if (word == "gone") return not_held(name_);
  return not_understood(store_);
}

Result<void> RedissonStore::skip(const LockState& shown, TimePoint until) {
  std::vector<std::string> fields;
  for (const Participant& waiter : unheard(shown)) fields.push_back(waiter.stored);
  auto answer = run(command_of(lua::kFairSkip, "", std::move(fields)), until, nullptr);
  if (!answer) return answer.error();
  return answer->front().text == "freed" ? Result<void>() : other_holders(name_);
}

Result<void> RedissonStore::force(const LockState& shown, const std::string& by, TimePoint until) {
  if (shown.holders.empty() && kind_ == RedissonKind::kFair) return skip(shown, until);
  std::vector<std::string> arguments{by};
  bool foreign = false;
  for (const Participant& participant : shown.holders) {
    const auto owner = Owner::parse(participant.owner);
    foreign = foreign || (participant.owner.empty() && !hands_out_permits(kind_));
    if (!participant.stored.empty()) arguments.push_back(participant.stored);
    else if (owner) arguments.push_back(holder_of(*owner));
  }
  auto answer = run(command_of(scripts_of(kind_).force, "", std::move(arguments)), until, nullptr);
  if (!answer) return answer.error();
  const std::string& word = answer->front().text;
  if (word == "freed") return {};
  if (word == "foreign" || (word == "conflict" && foreign)) {
    return Error{ErrorCode::kUnsupported,
                 name_.text() + " is not held by a Redisson " + kind_word(kind_) + ", and dlock does not delete it",
                 "dlock inspect " + name_.typed() + " says what it is"};
  }
  if (word == "conflict") return other_holders(name_);
  return not_understood(store_);
}

Command RedissonStore::state_command() const { return command_of(lua::kReadState, "", {kind_word(kind_)}); }

Result<LockState> RedissonStore::understood(const Answer& parts, WallTime asked) {
  LockState state{name_, store_, Mode::kExclusive, 0, {}, {}};
  if (!read_redisson_view(kind_, parts, state)) return not_understood(store_);
  const WallTime theirs = server_time(parts.front());
  read_at_ = theirs + move_to_our_clock(state, theirs, asked, clock_.wall());
  return state;
}

void RedissonStore::erase(TimePoint until) {
  std::vector<Command> commands{{"DEL", names_.beside.key}};
  for (const std::string& key : names_.others) commands.push_back({"DEL", key});
  (void)deployment_.call(names_.beside.key, commands, until, nullptr);
}

}  // namespace dlock::redis
