// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redlock_scripts.h"

#include <algorithm>

namespace dlock::redis {
namespace {

// ARGV: introduce, owner, ttl in ms, number, flag. Reads everything before it writes anything.
constexpr char kBegin[] = R"(
local now = redis.call('TIME')
local us = now[1] * 1000000 + now[2]
local counter = tonumber(redis.call('GET', KEYS[2]) or 0) or 0
local held = redis.pcall('GET', KEYS[1])
local run, uptime, aof = '', -1, ''
if ARGV[1] == '1' then
  local server, disk = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'persistence')
  if type(server) == 'string' and type(disk) == 'string' then
    run = string.match(server, 'run_id:(%w+)') or ''
    uptime = tonumber(string.match(server, 'uptime_in_seconds:(%d+)') or -1)
    aof = string.match(disk, 'aof_enabled:(%d)') or ''
  end
end
local function answer(state)
  return {state, us, redis.call('PTTL', KEYS[1]), held or '', counter, run, uptime}
end
local function raise(to)
  if to <= counter then return end
  local done = redis.pcall('SET', KEYS[2], string.format('%.0f', to))
  if not done.err then counter = to end
end
if type(held) == 'table' then
  held = ''
  return answer(-2)
end
)";

// number: our clock to draw from, or with flag the token to raise to.
constexpr char kTake[] = R"(
if held and held ~= ARGV[2] then return answer(-1) end
if not held and ARGV[5] == '0' and aof == '0' and uptime * 1000 < ARGV[3] + 1000 then return answer(-3) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if ARGV[5] == '1' then
  raise(tonumber(ARGV[4]))
else
  raise(math.max(counter + 1, math.min(math.max(tonumber(ARGV[4]), us - 1000000), us + 1000000)))
end
return answer(1)
)";

constexpr char kKeep[] = R"(
if not held then return answer(0) end
if held ~= ARGV[2] then return answer(-1) end
if ARGV[5] == '0' or redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
raise(tonumber(ARGV[4]))
return answer(1)
)";

constexpr char kGive[] = R"(
local state = held and -1 or 0
if held == ARGV[2] then
  redis.call('DEL', KEYS[1])
  state = 1
end
raise(tonumber(ARGV[4]))
return answer(state)
)";

constexpr char kLook[] = R"(
return answer(held and -1 or 0)
)";

Command command(const char* script, const RedlockQuestion& question, const std::string& number, bool flag) {
  const std::string& key = question.name.text();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(question.ttl).count();
  return {"EVAL",
          std::string(kBegin) + script,
          "2",
          key,
          "dlock:{" + key + "}:fence",
          question.introduce ? "1" : "0",
          question.owner,
          std::to_string(ms),
          number,
          flag ? "1" : "0"};
}

Ballot::State state_of(std::int64_t number) {
  switch (number) {
    case 1:
      return Ballot::State::kOurs;
    case 0:
      return Ballot::State::kFree;
    case -1:
      return Ballot::State::kOthers;
    case -2:
      return Ballot::State::kOtherKind;
    case -3:
      return Ballot::State::kStartedLately;
    default:
      return Ballot::State::kFailed;
  }
}

bool has_shape(const Reply& reply) {
  if (reply.kind != Reply::Kind::kArray || reply.elements.size() != 7) return false;
  for (const std::size_t i : {0, 1, 2, 4, 6}) {
    if (reply.elements[i].kind != Reply::Kind::kInteger) return false;
  }
  return reply.elements[3].is_text() && reply.elements[5].is_text();
}

}  // namespace

Command take_command(const RedlockQuestion& question, WallTime now) {
  return command(kTake, question, std::to_string(now.time_since_epoch().count()), false);
}

Command retake_command(const RedlockQuestion& question, FencingToken token) {
  return command(kTake, question, token.text(), true);
}

Command keep_command(const RedlockQuestion& question, FencingToken token, bool grow_only) {
  return command(kKeep, question, token.text(), grow_only);
}

Command give_command(const RedlockQuestion& question, FencingToken token) {
  return command(kGive, question, token.text(), false);
}

Command look_command(const RedlockQuestion& question) { return command(kLook, question, "0", false); }

Error reply_error(const Reply& reply) {
  const std::string said = "it answered \"" + reply.text.substr(0, 200) + "\"";
  for (const char* word : {"NOPERM", "NOAUTH", "WRONGPASS"}) {
    if (reply.is_error(word)) return {ErrorCode::kDenied, said, "see `ACL GETUSER` there"};
  }
  return {ErrorCode::kUnavailable, reply.is_error() ? said : "it answered something else than was asked", ""};
}

Ballot parse_ballot(const Reply& reply) {
  Ballot ballot;
  if (!has_shape(reply)) {
    ballot.error = reply_error(reply);
    return ballot;
  }
  ballot.state = state_of(reply.elements[0].integer);
  ballot.server_time = std::chrono::microseconds(reply.elements[1].integer);
  if (reply.elements[2].integer >= 0) ballot.remaining = std::chrono::milliseconds(reply.elements[2].integer);
  ballot.holder = reply.elements[3].text;
  ballot.counter = static_cast<std::uint64_t>(std::max<std::int64_t>(0, reply.elements[4].integer));
  ballot.run_id = reply.elements[5].text;
  ballot.uptime = reply.elements[6].integer;
  return ballot;
}

}  // namespace dlock::redis
