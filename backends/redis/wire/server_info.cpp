// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/server_info.h"

#include <algorithm>

#include "lib/base/text.h"

namespace dlock::redis {

std::map<std::string, std::string> parse_info(std::string_view text) {
  std::map<std::string, std::string> info;
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    info[std::string(line.substr(0, colon))] = line.substr(colon + 1);
  }
  return info;
}

std::string ServerInfo::text(const std::string& name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? "" : found->second;
}

std::int64_t ServerInfo::number(const std::string& name) const { return leading_number<std::int64_t>(text(name)); }

std::vector<Finding> ServerInfo::findings(const std::string& server) const {
  std::vector<Finding> found;
  const std::string policy = text("maxmemory_policy");
  if (number("maxmemory") > 0 && !policy.empty() && policy != "noeviction") {
    found.push_back({Finding::Verdict::kWarn, server + ": maxmemory-policy " + policy + " may evict held locks",
                     "`CONFIG SET maxmemory-policy noeviction`", ErrorCode::kMisconfigured});
  }
  if (text("role") == "slave") {
    found.push_back({Finding::Verdict::kFail, server + " is a replica: it takes no writes",
                     "name the master of it in the URL", ErrorCode::kMisconfigured});
  }
  if (number("loading") != 0) {
    found.push_back(
        {Finding::Verdict::kWarn, server + " is still loading its data", "wait until it has", ErrorCode::kUnavailable});
  }
  return found;
}

}  // namespace dlock::redis
