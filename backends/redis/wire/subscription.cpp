// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/subscription.h"

#include <algorithm>
#include <string_view>

namespace dlock::redis {

bool is_pushed(const Reply& reply) {
  if (reply.kind != Reply::Kind::kArray || reply.elements.empty()) return false;
  const std::string& word = reply.elements[0].text;
  return word == "message" || word == "pmessage" || word == "smessage";
}

bool is_subscription(const Command& command) {
  constexpr std::string_view kEnding = "SUBSCRIBE";
  if (command.empty() || command[0].size() < kEnding.size()) return false;
  const std::string_view tail = std::string_view(command[0]).substr(command[0].size() - kEnding.size());
  return std::equal(tail.begin(), tail.end(), kEnding.begin(), [](char a, char b) { return (a & ~0x20) == b; });
}

std::size_t answers_to(const Command& command) {
  return is_subscription(command) && command.size() > 2 ? command.size() - 1 : 1;
}

}  // namespace dlock::redis
