// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/questions.h"

#include <algorithm>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/redirect.h"
#include "backends/redis/quorum/scripts.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/random.h"

namespace dlock::redis {
namespace {

const char* key_of(QuorumKind kind) {
  return kind == QuorumKind::kTair ? quorum_scripts::kKeyTair : quorum_scripts::kKeyString;
}

/// The version of a new key: 1 to 2^52. A lock that is taken after ours has ended then has another version, which a
/// late EXCAS or EXCAD of another client does not hit (counting from 1 it would: seen).
std::int64_t random_start() { return static_cast<std::int64_t>(random_below(std::uint64_t{1} << 52)) + 1; }

Command command(const char* script, const QuorumQuestion& question, const std::string& number, bool flag) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(question.ttl).count();
  return {"EVAL",
          std::string(key_of(question.kind)) + script,
          "4",
          question.names.key,
          question.names.fence,
          question.names.holders,
          question.names.forced,
          question.introduce ? "1" : "0",
          question.owner,
          std::to_string(ms),
          number,
          flag ? "1" : "0",
          question.entry,
          question.info,
          question.kind == QuorumKind::kTair ? std::to_string(random_start()) : ""};
}

/// 1, 0, -1, -2 or -3; all else is none of our scripts'.
Ballot::State state_of(std::int64_t number) {
  return number > 1 || number < -3 ? Ballot::State::kFailed : static_cast<Ballot::State>(1 - number);
}

bool has_shape(const Reply& reply) {
  if (reply.kind != Reply::Kind::kArray || reply.elements.size() != 8) return false;
  for (const std::size_t i : {0, 1, 2, 4, 6}) {
    if (reply.elements[i].kind != Reply::Kind::kInteger) return false;
  }
  return reply.elements[3].is_text() && reply.elements[5].is_text() && reply.elements[7].is_text();
}

}  // namespace

QuorumKind quorum_kind(const BackendUrl& url) {
  return url.scheme == "redlock" ? QuorumKind::kString : QuorumKind::kTair;
}

Command take_command(const QuorumQuestion& question, std::optional<WallTime> now) {
  return command(quorum_scripts::kTake, question, now ? std::to_string(now->time_since_epoch().count()) : "", false);
}

Command retake_command(const QuorumQuestion& question, FencingToken token) {
  return command(quorum_scripts::kTake, question, token.text(), true);
}

Command keep_command(const QuorumQuestion& question, FencingToken token, bool tell) {
  return command(quorum_scripts::kKeep, question, token.text(), tell);
}

Command release_command(const QuorumQuestion& question, FencingToken token, bool marks) {
  return command(quorum_scripts::kRelease, question, token.text(), marks);
}

Command revoke_command(const QuorumQuestion& question) {
  return command(quorum_scripts::kRevoke, question, question.names.wake + question.owner, false);
}

Command read_command(const QuorumQuestion& question) {
  return command(quorum_scripts::kReadState, question, "0", false);
}

Ballot parse_ballot(const Reply& reply) {
  Ballot ballot;
  if (!has_shape(reply)) {
    ballot.error = reply_error(reply);
    return ballot;
  }
  ballot.state = state_of(reply.elements[0].integer);
  ballot.server_time = std::chrono::microseconds(reply.elements[1].integer);
  if (reply.elements[2].integer >= 0) ballot.remaining = lease_left(reply.elements[2].integer);
  ballot.holder = reply.elements[3].text;
  ballot.counter = static_cast<std::uint64_t>(std::max<std::int64_t>(0, reply.elements[4].integer));
  ballot.run_id = reply.elements[5].text;
  ballot.uptime = reply.elements[6].integer;
  ballot.record = reply.elements[7].text;
  return ballot;
}

}  // namespace dlock::redis
