// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/layout.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/families.h"
#include "backends/redis/deployment/record.h"
#include "backends/redis/redisson/rules.h"
#include "backends/redis/redisson/scripts.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

constexpr std::string_view kWriter = ":write";

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
    if (type_ == "hash") hash();
    else if (type_ != "none") other_family(type_ == "string" ? content_.elements.front().text : "");
    if (kind_ == RedissonKind::kFair) waiters();
  }

 private:
  Participant participant_of(const std::string& field, bool holds) const {
    Participant participant;
    const auto owner = owner_of_field(field);
    const auto record = holds ? records_.find(field) : records_.end();
    if (record != records_.end()) {
      add_record(participant, record->second);
    } else if (const auto waits = waiting_.find(field); !holds && waits != waiting_.end()) {
      std::string_view rest = waits->second;
      participant.since = from_ms(leading_number<std::int64_t>(cut(rest, ' ')));
      add_who(participant, rest);
    } else {
      participant.owner = printable(field, 128);
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

/// Fills the holders and waiters of `state`, which has its name and store, from the answer of scripts/read_state.lua of
/// Redisson's layout. A dlock's owner is its handle, with the data of its record; a service's thread is
/// "UUID:threadId". Something else at the key counts as a holder whose note says what it is and which layout to name.
/// False for parts that the script cannot have answered.
bool read_redisson_view(RedissonKind kind, const std::vector<Reply>& parts, LockState& state) {
  if (!is_look(parts)) return false;
  if (parts[1].text == "string" && parts[3].elements.empty()) return false;
  RedissonView(kind, parts, state).read();
  return true;
}

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
    case RedissonKind::kFenced:
      return {lua::kLockAcquire, lua::kLockRenew, lua::kLockRelease, lua::kLockForce};
    case RedissonKind::kFair:
      return {lua::kFairAcquire, lua::kLockRenew, lua::kLockRelease, lua::kLockForce};
    case RedissonKind::kReadWrite:
      return {lua::kRwAcquire, lua::kRwRenew, lua::kRwRelease, lua::kRwForce};
  }
  return {};
}

FencingToken token_of(const Reply& reply) {
  return FencingToken(static_cast<std::uint64_t>(leading_number<std::int64_t>(reply.text)));
}

}  // namespace

Command RedissonLayout::command_of(const char* script, const std::string& me,
                                   std::vector<std::string> arguments) const {
  const NativeNames& beside = names_.beside;
  // A cluster refuses a script while its slot moves if one of its keys is not there: a renewal names those that are.
  std::vector<std::string> keys{beside.key, beside.holders};
  const bool renews = script == scripts_of(kind_).renew;
  if (renews && kind_ == RedissonKind::kReadWrite) keys.push_back(read_key(me, 1));
  if (!renews) keys.insert(keys.end(), names_.others.begin(), names_.others.end());
  Command command{"EVAL", script, std::to_string(keys.size())};
  command.insert(command.end(), std::make_move_iterator(keys.begin()), std::make_move_iterator(keys.end()));
  command.insert(command.end(), {names_.channel, names_.sharded ? "PUBLISH,SPUBLISH" : "PUBLISH", names_.stem, me});
  command.insert(command.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return command;
}

Result<AttemptAnswer> RedissonLayout::acquire(const RedissonAsk& ask, TimePoint until, Control* control) {
  auto answer = run_confirmed(
      command_of(scripts_of(kind_).acquire, holder_of(ask.owner),
                 {ask.owner.text(), ms_text(ask.ttl), ask.info, mode_letter(ask.mode), ask.enqueue ? "q" : "",
                  ms_text(kFairWait)}),
      [](const Answer& e) { return e[0].text == "granted"; }, until, control);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  const std::string& word = e[0].text;
  if (word == "granted" && e.size() == 2) return AttemptAnswer(AttemptGranted{token_of(e[1])});
  if (word == "busy" && e.size() == 4) {
    return AttemptAnswer(AttemptBusy{lease_left(e[1].integer), static_cast<int>(e[2].integer), {}, e[3].integer == 1});
  }
  if (word == "bad" && e.size() == 2) {
    return Error{
        ErrorCode::kMisconfigured,
        name_.text() + " on " + store_ + " is not what Redisson writes: " + printable(e[1].text, kForeignWords),
        "find out which program writes there, or name another ?kind="};
  }
  return not_understood(store_);
}

Result<FencingToken> RedissonLayout::renew(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                           TimePoint until, Control* control) {
  auto answer = unless_split([&] {
    return run_confirmed(command_of(scripts_of(kind_).renew, holder_of(owner),
                                    {ms_text(ttl), exact ? "1" : "0", ran.empty() ? "" : ran_word(ran)}),
                         is_renewed, until, control);
  });
  if (!answer && deployment_.is_split()) answer = renew_split(owner, ttl, exact, ran, until, control);
  if (!answer) return answer.error();
  const Answer& e = *answer;
  if (e.size() < 2) return not_understood(store_);
  if (e[0].text == "renewed") return token_of(e[1]);
  if (e[0].text != "lost") return not_understood(store_);
  return Error{ErrorCode::kLost, e[1].text == "free"
                                     ? store_ +
                                           " no longer has this lock (it expired, was force-unlocked, or the "
                                           "server forgot it)"
                                     : "it has another holder on " + store_};
}

std::string RedissonLayout::read_key(const std::string& field, std::int64_t number) const {
  return names_.stem + ":" + field + ":rwlock_timeout:" + std::to_string(number);
}

Result<Layout::Answer> RedissonLayout::renew_split(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                                   TimePoint until, Control* control) {
  const std::string record = keep_record(owner, ttl, ran, until, control);
  Command command{"EVAL", scripts_of(kind_).renew, "1", names_.beside.key};
  command.insert(command.end(), {names_.channel, "", names_.stem, holder_of(owner), ms_text(ttl), exact ? "1" : "0"});
  auto answer = run_confirmed(std::move(command), is_renewed, until, control);
  if (!answer || !is_renewed(*answer) || answer->size() != 3) return answer;
  const TimePoint first = sent();
  const auto reads = keep_reads((*answer)[2].integer, owner, ttl, exact, until, control);
  count_from(first);
  if (!reads) return reads.error();
  if (!record.empty()) (*answer)[1].text = record.substr(0, record.find(' '));
  return answer;
}

Result<Layout::Answer> RedissonLayout::keep_reads(std::int64_t count, const Owner& owner, Duration ttl, bool exact,
                                                  TimePoint until, Control* control) {
  for (std::int64_t number = 1; number <= count; ++number) {
    auto kept = run_confirmed(
        {"EVAL", lua::kKeepRead, "1", read_key(holder_of(owner), number), ms_text(ttl), exact ? "1" : "0"},
        [](const Answer&) { return true; }, until, control);
    if (!kept) return kept;
  }
  return Answer{};
}

Result<void> RedissonLayout::release(const Owner& owner, const Owner* entry, TimePoint until) {
  TRY_ASSIGN(auto answer, run(command_of(scripts_of(kind_).release, holder_of(owner),
                                         release_arguments(kind_, entry ? entry->text() : "")),
                              until, nullptr));
  const std::string& word = answer.front().text;
  if (word == "released") return {};
  if (word == "gone") return not_held(name_);
  return not_understood(store_);
}

Result<void> RedissonLayout::skip(const LockState& shown, TimePoint until) {
  std::vector<std::string> fields;
  for (const Participant& waiter : unheard(shown)) fields.push_back(waiter.stored);
  TRY_ASSIGN(auto answer, run(command_of(lua::kFairSkip, "", std::move(fields)), until, nullptr));
  return answer.front().text == "freed" ? Result<void>() : other_holders(name_);
}

Result<void> RedissonLayout::force(const LockState& shown, TimePoint until) {
  if (shown.holders.empty() && kind_ == RedissonKind::kFair) return skip(shown, until);
  std::vector<std::string> arguments;
  bool foreign = false;
  for (const Participant& participant : shown.holders) {
    const auto owner = Owner::parse(participant.owner);
    foreign = foreign || participant.owner.empty();
    if (!participant.stored.empty()) arguments.push_back(participant.stored);
    else if (owner) arguments.push_back(holder_of(*owner));
  }
  TRY_ASSIGN(auto answer, run(command_of(scripts_of(kind_).force, "", std::move(arguments)), until, nullptr));
  const std::string& word = answer.front().text;
  if (word == "freed") return {};
  if (word == "foreign" || (word == "conflict" && foreign)) {
    return Error{ErrorCode::kUnsupported,
                 name_.text() + " is not held by a Redisson " + kind_word(kind_) + ", and dlock does not delete it",
                 "dlock inspect " + name_.typed() + " says what it is"};
  }
  if (word == "conflict") return other_holders(name_);
  return not_understood(store_);
}

Command RedissonLayout::state_command() const { return command_of(lua::kReadState, "", {kind_word(kind_)}); }

Result<LockState> RedissonLayout::understood(const Answer& parts, WallTime asked) {
  LockState state{name_, store_, Mode::kExclusive, 0, {}, {}};
  if (!read_redisson_view(kind_, parts, state)) return not_understood(store_);
  const WallTime theirs = server_time(parts.front());
  read_at_ = theirs + move_to_our_clock(state, theirs, asked, clock_.wall());
  return state;
}

void RedissonLayout::erase(TimePoint until) {
  std::vector<Command> commands{{"DEL", names_.beside.key}};
  for (const std::string& key : names_.others) commands.push_back({"DEL", key});
  (void)deployment_.call(names_.beside.key, commands, until, nullptr);
}

}  // namespace dlock::redis
