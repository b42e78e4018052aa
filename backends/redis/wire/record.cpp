// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/record.h"

#include <algorithm>
#include <cstdlib>

namespace dlock::redis {
std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

std::int64_t number(std::string_view text) { return std::strtoll(std::string(text).c_str(), nullptr, 10); }

std::int64_t add_record(Participant& party, std::string_view record) {
  party.token = FencingToken(static_cast<std::uint64_t>(number(cut(record, ' '))));
  party.since = WallTime(std::chrono::milliseconds(number(cut(record, ' '))));
  const std::int64_t delay = number(cut(record, ' '));
  const std::string_view entries = cut(record, ' ');
  party.count = static_cast<int>(1 + std::count(entries.begin(), entries.end(), ','));
  add_who(party, record);
  return delay;
}

}  // namespace dlock::redis
