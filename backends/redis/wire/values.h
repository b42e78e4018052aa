// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "backends/redis/wire/reply.h"
#include "lib/base/time.h"

namespace dlock::redis {

/// As scripts take a length of time: whole milliseconds, rounded up.
inline std::string ms_text(Duration d) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count());
}

/// A moment that a script tells.
inline WallTime from_ms(std::int64_t ms) { return WallTime(std::chrono::milliseconds(ms)); }

/// A list of names and values in turn, as HGETALL gives it.
inline std::map<std::string, std::string> pairs(const Reply& reply) {
  std::map<std::string, std::string> map;
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2)
    map[reply.elements[i].text] = reply.elements[i + 1].text;
  return map;
}

}  // namespace dlock::redis
