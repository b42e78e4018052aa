// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dlock::redis {

/// What INFO says, in its "name:value" lines.
class ServerInfo {
 public:
  explicit ServerInfo(std::string_view info);

  /// Empty if it says nothing of `name`.
  std::string text(const std::string& name) const;
  /// 0 if it says nothing, or no number.
  std::int64_t number(const std::string& name) const;

 private:
  std::map<std::string, std::string> fields_;
};

}  // namespace dlock::redis
