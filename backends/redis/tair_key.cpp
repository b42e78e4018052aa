// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/tair_key.h"

#include <algorithm>
#include <charconv>

#include "backends/redis/redlock_scripts.h"
#include "lib/base/entropy.h"

namespace dlock::redis {
namespace {

// KEYS: the lock, its counter. ARGV: owner, whether to draw.
constexpr char kBegin[] = R"(
local now = redis.call('TIME')
local us = now[1] * 1000000 + now[2]
local counter = tonumber(redis.call('GET', KEYS[2]) or 0) or 0
)";

constexpr char kGet[] = R"(
local held, version = redis.pcall('GET', KEYS[1]), 0
local other = type(held) == 'table'
)";

constexpr char kExGet[] = R"(
local got = redis.pcall('EXGET', KEYS[1])
local other = type(got) == 'table' and got.err ~= nil
local held, version = false, 0
if type(got) == 'table' and not other then
  held, version = got[1], got[2]
end
)";

constexpr char kEnd[] = R"(
if other then return {-2, redis.call('PTTL', KEYS[1]), '', counter, 0} end
local state = held == ARGV[1] and 1 or held and -1 or 0
if state == 1 and ARGV[2] == '1' then
  counter = math.max(counter + 1, us)
  redis.call('SET', KEYS[2], string.format('%.0f', counter))
end
return {state, redis.call('PTTL', KEYS[1]), held or '', counter, version}
)";

std::string in_ms(Duration ttl) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count());
}

bool is_unknown_command(const Reply& reply) {
  return reply.is_error() && reply.text.starts_with("ERR unknown command");
}

Error passing(const std::string& server, const Reply& reply) {
  Error error = reply_error(reply);
  error.message = server + ": " + error.message;
  return error;
}

std::optional<TairLook> parse_look(const Reply& reply) {
  if (reply.kind != Reply::Kind::kArray || reply.elements.size() != 5 || !reply.elements[2].is_text()) return {};
  for (const std::size_t i : {0, 1, 3, 4}) {
    if (reply.elements[i].kind != Reply::Kind::kInteger) return {};
  }
  TairLook look;
  const std::int64_t state = reply.elements[0].integer;
  look.state = state == 1    ? TairLook::State::kOurs
               : state == 0  ? TairLook::State::kFree
               : state == -1 ? TairLook::State::kOthers
                             : TairLook::State::kOtherKind;
  if (reply.elements[1].integer >= 0) look.remaining = std::chrono::milliseconds(reply.elements[1].integer);
  look.holder = reply.elements[2].text;
  look.counter = static_cast<std::uint64_t>(std::max<std::int64_t>(0, reply.elements[3].integer));
  look.version = reply.elements[4].integer;
  return look;
}

/// :1, :0, :-1; EXCAS: [OK, "", version], [CAS_FAILED, value, version], :-1. nullopt: neither.
std::optional<TairSwap> parse_swap(const Reply& reply, const std::string& owner, std::int64_t* version) {
  if (reply.kind == Reply::Kind::kInteger) {
    if (reply.integer == 1) return TairSwap::kDone;
    return reply.integer == 0 ? TairSwap::kOthers : TairSwap::kGone;
  }
  if (reply.is_error("WRONGTYPE")) return TairSwap::kOthers;
  const bool array = reply.kind == Reply::Kind::kArray && reply.elements.size() == 3;
  if (!array || !reply.elements[0].is_text() || reply.elements[2].kind != Reply::Kind::kInteger) return {};
  if (reply.elements[0].text == "OK") {
    if (version != nullptr) *version = reply.elements[2].integer;
    return TairSwap::kDone;
  }
  // Our value at another version: an earlier request of ours whose answer was lost.
  if (version != nullptr && reply.elements[1].text == owner) *version = reply.elements[2].integer;
  return TairSwap::kOthers;
}

}  // namespace

std::int64_t random_start() {
  std::int64_t number = 0;
  const std::string text = random_hex(8).substr(0, 13);
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number + 1;
}

TairKey::TairKey(ServerGroup& server, LockName name, TairMode mode)
    : server_(server), name_(std::move(name)), mode_(mode) {}

Command TairKey::look_command(const std::string& owner, bool draw) const {
  const std::string script = std::string(kBegin) + (mode_ == TairMode::kEx ? kExGet : kGet) + kEnd;
  const std::string& key = name_.text();
  return {"EVAL", script, "2", key, "dlock:{" + key + "}:fence", owner, draw ? "1" : "0"};
}

Result<std::vector<Reply>> TairKey::call(std::vector<Command> commands, TimePoint until, Control* control) {
  auto answers = server_.ask({std::move(commands)}, until, control, [](const auto&) { return false; });
  ServerGroup::Answer& answer = answers.front();
  if (answer.has_replies()) return std::move(answer.replies);
  if (answer.error) return *answer.error;
  return Error{ErrorCode::kUnavailable, server_.name(0) + ": no answer in time", ""};
}

Result<TairLook> TairKey::take(const std::string& owner, std::int64_t start, Duration ttl, TimePoint until,
                               Control* control) {
  server_.refresh();
  const int connection = server_.connection(0);
  const bool ex = mode_ == TairMode::kEx;
  const std::string& key = name_.text();
  std::vector<Command> commands;
  if (ex) {
    commands.push_back({"EXSET", key, owner, "NX", "PX", in_ms(ttl), "ABS", std::to_string(start)});
  } else {
    commands.push_back({"SET", key, owner, "NX", "PX", in_ms(ttl)});
  }
  commands.push_back(look_command(owner, true));
  if (probed_ != connection) commands.push_back({ex ? "EXCAS" : "CAS"});  // without its arguments: only known or not
  const auto replies = call(commands, until, control);
  if (!replies) return replies.error();
  if (is_unknown_command(replies->back()) || is_unknown_command(replies->front())) {
    (void)call({give_command({name_, owner, ttl, false}, FencingToken(0))}, until, control);
    return Error{ErrorCode::kUnsupported, server_.name(0) + " is no Tair: it does not know " + (ex ? "EXCAS" : "CAS"),
                 "use redis:// for it"};
  }
  probed_ = connection;
  auto look = parse_look((*replies)[1]);
  if (!look) return passing(server_.name(0), (*replies)[1]);
  if (look->state == TairLook::State::kFree && replies->front().is_error()) {
    return passing(server_.name(0), replies->front());
  }
  look->fresh = replies->front().kind == Reply::Kind::kStatus;
  return *look;
}

Result<TairLook> TairKey::look(const std::string& owner, TimePoint until, Control* control) {
  const auto replies = call({look_command(owner, false)}, until, control);
  if (!replies) return replies.error();
  const auto look = parse_look(replies->front());
  if (!look) return passing(server_.name(0), replies->front());
  return *look;
}

Result<TairSwap> TairKey::keep(const std::string& owner, std::int64_t& version, Duration ttl, TimePoint until,
                               Control* control) {
  const std::string& key = name_.text();
  for (int attempt = 0;; ++attempt) {
    const std::int64_t before = version;
    const Command command = mode_ == TairMode::kEx
                                ? Command{"EXCAS", key, owner, std::to_string(version), "PX", in_ms(ttl)}
                                : Command{"CAS", key, owner, owner, "PX", in_ms(ttl)};
    const auto replies = call({command}, until, control);
    if (!replies) return replies.error();
    const auto swap = parse_swap(replies->front(), owner, &version);
    if (!swap) return passing(server_.name(0), replies->front());
    const bool ours_elsewhere = *swap == TairSwap::kOthers && version != before;
    if (!ours_elsewhere || attempt == 3) return *swap;
  }
}

Result<TairSwap> TairKey::remove(const std::string& owner, std::int64_t version, TimePoint until) {
  const std::string& key = name_.text();
  const bool ex = mode_ == TairMode::kEx;
  const auto replies =
      call({ex ? Command{"EXCAD", key, std::to_string(version)} : Command{"CAD", key, owner}}, until, nullptr);
  if (!replies) return replies.error();
  const auto swap = parse_swap(replies->front(), owner, nullptr);
  if (!swap) return passing(server_.name(0), replies->front());
  if (!ex || *swap != TairSwap::kOthers) return *swap;
  const auto now = look(owner, until, nullptr);
  if (!now) return now.error();
  if (now->state != TairLook::State::kOurs || now->version == version) return *swap;
  return remove(owner, now->version, until);
}

LockState TairKey::state(const TairLook& look, const std::string& store, WallTime now) const {
  LockState state{name_, store, Mode::kExclusive, 0, {}, {}};
  if (look.state == TairLook::State::kFree) return state;
  Party party;
  party.owner = look.holder;
  if (look.state == TairLook::State::kOtherKind) {
    party.note = "the key is of another type: another program's lock";
  } else {
    party.token = FencingToken(look.counter);
  }
  if (look.remaining) party.until = now + std::chrono::duration_cast<std::chrono::microseconds>(*look.remaining);
  state.holders.push_back(std::move(party));
  return state;
}

}  // namespace dlock::redis
