// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/plain_scripts.h"

#include <algorithm>
#include <charconv>

#include "backends/redis/deployment/redirect.h"
#include "lib/base/entropy.h"

namespace dlock::redis {
namespace {

// ARGV: introduce, owner, ttl in ms, number, flag, entry, info, start. Reads everything before it writes anything.
constexpr char kBegin[] = R"(
local K, F, H = KEYS[1], KEYS[2], KEYS[3]
local owner, px, entry, info = ARGV[2], tonumber(ARGV[3]), ARGV[6], ARGV[7]
local now = redis.call('TIME')
local us = now[1] * 1000000 + now[2]
local counter = tonumber(redis.call('GET', F) or 0) or 0
)";

constexpr char kString[] = R"(
local held = redis.pcall('GET', K)
local other = type(held) == 'table'
local function grant() redis.call('SET', K, owner, 'PX', px) end
local function extend() redis.call('PEXPIRE', K, px) end
local function drop() redis.call('DEL', K) end
)";

// grant() begins with CAS, so that a server that does not know it has changed nothing.
constexpr char kTairCas[] = R"(
local held = redis.pcall('GET', K)
local other = type(held) == 'table'
local function extend() return redis.call('CAS', K, owner, owner, 'PX', px) end
local function grant() if extend() ~= 1 then redis.call('SET', K, owner, 'NX', 'PX', px) end end
local function drop() redis.call('CAD', K, owner) end
)";

constexpr char kTairEx[] = R"(
local got = redis.pcall('EXGET', K)
local other = type(got) == 'table' and got.err ~= nil
if other and string.find(got.err, 'nknown') then return got end
local held, version = false, 0
if type(got) == 'table' and not other then held, version = got[1], got[2] end
local function grant() redis.call('EXSET', K, owner, 'NX', 'PX', px, 'ABS', ARGV[8]) end
local function extend() redis.call('EXCAS', K, owner, version, 'PX', px) end
local function drop() redis.call('EXCAD', K, version) end
)";

// A record that is of no use is none: its holder is then another program, until we enter.
constexpr char kRecord[] = R"(
local run, uptime, aof = '', -1, ''
if ARGV[1] == '1' then
  local server, disk = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'persistence')
  if type(server) == 'string' and type(disk) == 'string' then
    run = string.match(server, 'run_id:(%w+)') or ''
    uptime = tonumber(string.match(server, 'uptime_in_seconds:(%d+)') or -1)
    aof = string.match(disk, 'aof_enabled:(%d)') or ''
  end
end
if other then held = '' end
local record = held and redis.pcall('HGET', H, held)
if type(record) ~= 'string' then record = '' end
local token, since, delay, entries, who = string.match(record, '^(%S+) (%S+) (%S+) (%S+) (.*)$')
local function answer(state)
  return {state, us, redis.call('PTTL', K), held or '', counter, run, uptime, record}
end
local function raise(to)
  if to <= counter then return end
  local done = redis.pcall('SET', F, string.format('%.0f', to))
  if not done.err then counter = to end
end
local function write()
  record = token .. ' ' .. since .. ' ' .. delay .. ' ' .. entries .. ' ' .. who
  redis.call('HSET', H, owner, record)
  redis.call('PEXPIRE', H, math.max(redis.call('PTTL', K), 1))
end
local function enter(with)
  if entry == '' and not entries then return end
  redis.call('HDEL', H, '')
  if not entries then
    redis.call('DEL', H)
    since, delay, entries, who = string.format('%.0f', math.floor(us / 1000)), '0', entry, info
  elseif not string.find(entries, entry, 1, true) then
    entries = entries .. ',' .. entry
  end
  if with ~= '0' then token = with end
  token = token or '0'
  write()
end
if other then return answer(-2) end
)";

// number: our clock to draw from ('': the server's), or with flag the token to raise to.
constexpr char kTake[] = R"(
if held and held ~= owner then return answer(-1) end
if not held and ARGV[5] == '0' and aof == '0' and uptime * 1000 < px + 1000 then return answer(-3) end
if not held then
  grant()
  held = owner
elseif redis.call('PTTL', K) < px then
  extend()
end
if ARGV[5] == '1' then
  raise(tonumber(ARGV[4]))
  enter(ARGV[4])
else
  raise(math.max(counter + 1, math.min(math.max(tonumber(ARGV[4]) or us, us - 1000000), us + 1000000)))
  enter(string.format('%.0f', counter))
end
return answer(1)
)";

constexpr char kKeepScript[] = R"(
if not held then return answer(0) end
if held ~= owner then return answer(-1) end
if px <= 0 then
  drop()
  redis.call('DEL', H)
else
  local alone = entry == '' or not entries or entries == entry
  if alone or redis.call('PTTL', K) < px then extend() end
  enter(ARGV[4])
end
raise(tonumber(ARGV[4]))
return answer(1)
)";

constexpr char kGive[] = R"(
local state = held and -1 or 0
if held == owner then
  local rest, mine = {}, entry == '' or not entries
  for one in string.gmatch(entries or '', '[^,]+') do
    if one == entry then mine = true else rest[#rest + 1] = one end
  end
  if mine and (entry == '' or #rest == 0) then
    drop()
    redis.call('DEL', H)
  elseif mine then
    redis.call('HDEL', H, '')
    entries = table.concat(rest, ',')
    write()
  end
  if mine then state = 1 end
end
raise(tonumber(ARGV[4]))
return answer(state)
)";

constexpr char kLook[] = R"(
return answer(held and -1 or 0)
)";

const char* commands_of(PlainKind kind) {
  switch (kind) {
    case PlainKind::kString:
      return kString;
    case PlainKind::kTairCas:
      return kTairCas;
    case PlainKind::kTairEx:
      return kTairEx;
  }
  return kString;
}

/// The version of a new key: 1 to 2^52. A lock that is taken after ours has ended then has another version, which a
/// late EXCAS or EXCAD of another client does not hit (counting from 1 it would: seen).
std::int64_t random_start() {
  std::int64_t start = 0;
  const std::string text = random_hex(8).substr(0, 13);
  std::from_chars(text.data(), text.data() + text.size(), start, 16);
  return start + 1;
}

Command command(const char* script, const PlainQuestion& question, const std::string& number, bool flag) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(question.ttl).count();
  return {"EVAL",
          std::string(kBegin) + commands_of(question.kind) + kRecord + script,
          "3",
          question.names.key,
          question.names.fence,
          question.names.holders,
          question.introduce ? "1" : "0",
          question.owner,
          std::to_string(ms),
          number,
          flag ? "1" : "0",
          question.entry,
          question.info,
          question.kind == PlainKind::kTairEx ? std::to_string(random_start()) : ""};
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
  if (reply.kind != Reply::Kind::kArray || reply.elements.size() != 8) return false;
  for (const std::size_t i : {0, 1, 2, 4, 6}) {
    if (reply.elements[i].kind != Reply::Kind::kInteger) return false;
  }
  return reply.elements[3].is_text() && reply.elements[5].is_text() && reply.elements[7].is_text();
}

}  // namespace

Command take_command(const PlainQuestion& question, std::optional<WallTime> now) {
  return command(kTake, question, now ? std::to_string(now->time_since_epoch().count()) : "", false);
}

Command retake_command(const PlainQuestion& question, FencingToken token) {
  return command(kTake, question, token.text(), true);
}

Command keep_command(const PlainQuestion& question, FencingToken token) {
  return command(kKeepScript, question, token.text(), false);
}

Command give_command(const PlainQuestion& question, FencingToken token) {
  return command(kGive, question, token.text(), false);
}

Command look_command(const PlainQuestion& question) { return command(kLook, question, "0", false); }

Error reply_error(const Reply& reply) {
  const std::string said = "it answered \"" + words_of(reply) + "\"";
  if (is_denied(reply)) return {ErrorCode::kDenied, said, "see `ACL GETUSER` there"};
  if (is_read_only(reply)) {
    return {ErrorCode::kUnavailable, "it is a read-only replica: " + words_of(reply), "name its primary"};
  }
  if (reply.is_error() && reply.text.find("Unknown Redis command") != std::string::npos) {
    return {ErrorCode::kUnsupported, "it is no Tair: " + said, "use redis:// for it"};
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
  ballot.record = reply.elements[7].text;
  return ballot;
}

}  // namespace dlock::redis
