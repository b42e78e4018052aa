// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/server_info.h"

#include "lib/base/text.h"

namespace dlock::redis {

ServerInfo::ServerInfo(std::string_view info) {
  while (!info.empty()) {
    std::string_view line = cut(info, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    fields_[std::string(line.substr(0, colon))] = line.substr(colon + 1);
  }
}

std::string ServerInfo::text(const std::string& name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? "" : found->second;
}

std::int64_t ServerInfo::number(const std::string& name) const { return leading_number<std::int64_t>(text(name)); }

}  // namespace dlock::redis
