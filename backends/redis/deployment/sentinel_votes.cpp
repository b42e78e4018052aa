// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/sentinel_votes.h"

#include <algorithm>
#include <map>

namespace dlock::redis {
namespace {

std::string reason(const SentinelVote& vote, const std::string& master) {
  if (!vote.answer) return vote.answer.error().message;
  const std::optional<Endpoint>& named = *vote.answer;
  return vote.sentinel.text() + (named ? " names " + named->text() : " knows no master '" + master + "'");
}

bool is_permanent(const SentinelVote& vote) {
  if (vote.answer) return !vote.answer->has_value();
  return vote.answer.error().code != ErrorCode::kUnavailable;
}

Error summary(ErrorCode code, std::string message, std::string next) {
  return {code, std::move(message), std::move(next)};
}

}  // namespace

std::optional<Endpoint> elected(const std::vector<SentinelVote>& votes, std::size_t configured) {
  std::map<Endpoint, std::size_t> named;
  for (const SentinelVote& vote : votes) {
    if (!vote.answer || !vote.answer->has_value()) continue;
    if (++named[**vote.answer] > configured / 2) return **vote.answer;
  }
  return std::nullopt;
}

Error not_elected(const std::vector<SentinelVote>& votes, std::size_t configured, const std::string& master) {
  std::string reasons;
  std::size_t permanent = 0;
  const SentinelVote* telling = nullptr;  // the vote whose advice is passed on
  for (const SentinelVote& vote : votes) {
    reasons += (reasons.empty() ? "" : "; ") + reason(vote, master);
    if (!is_permanent(vote)) continue;
    ++permanent;
    if (telling == nullptr || (telling->answer && !vote.answer)) telling = &vote;
  }
  const std::size_t majority = configured / 2 + 1;
  const bool hopeless = configured - std::min(configured, permanent) < majority;
  std::string message = configured == 1 ? "the sentinel names no master '" + master + "'"
                                        : "no majority of the " + std::to_string(configured) +
                                              " sentinels names a master '" + master + "'";
  message += ": " + reasons;
  if (!hopeless) {
    return summary(ErrorCode::kUnavailable, std::move(message),
                   "look whether the sentinels run, and whether they agree");
  }
  if (telling != nullptr && !telling->answer) {
    return summary(telling->answer.error().code, std::move(message), telling->answer.error().next);
  }
  return summary(
      ErrorCode::kMisconfigured, std::move(message),
      "the name after the hosts is that of 'sentinel monitor NAME ...'; redis-cli -p 26379 sentinel masters");
}

}  // namespace dlock::redis
