// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dlock::redis {

/// The "name:value" lines of an answer to INFO.
class ServerInfo {
 public:
  explicit ServerInfo(std::string_view info);

  /// The value of `name`; empty if there is none.
  std::string text(const std::string& name) const;
  /// The same as a number; 0 if there is none.
  std::int64_t number(const std::string& name) const;

 private:
  std::map<std::string, std::string> fields_;
};

}  // namespace dlock::redis
