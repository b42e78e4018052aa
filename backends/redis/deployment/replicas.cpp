// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/replicas.h"

namespace dlock::redis {

std::vector<Command> ReplicaCheck::commands(Duration patience) const {
  if (!any()) return {};
  const auto ms = std::max<std::int64_t>(1, patience / std::chrono::milliseconds(1));  // 0 would wait for ever
  Command wait{"WAIT", std::to_string(wanted_), std::to_string(ms)};
  if (all_) return {{"ROLE"}, std::move(wait)};
  return {std::move(wait)};
}

ReplicaCheck::Confirmation ReplicaCheck::judge(const std::vector<Reply>& replies) {
  const std::int64_t asked_for = wanted_;
  confirmed_ = replies.back().integer;
  if (all_) wanted_ = std::max<std::int64_t>(least_, count(replies.front()));
  if (confirmed_ >= wanted_) return Confirmation::kMet;
  return wanted_ > asked_for && confirmed_ >= asked_for ? Confirmation::kAgain : Confirmation::kUnmet;
}

std::int64_t ReplicaCheck::count(const Reply& role) {  // ["master", offset, [replica, ...]]
  return role.elements.size() > 2 ? std::ssize(role.elements[2].elements) : 0;
}

std::string ReplicaCheck::text() const {
  return std::to_string(confirmed_) + " of " + std::to_string(wanted_) + (wanted_ == 1 ? " replica" : " replicas");
}

}  // namespace dlock::redis
