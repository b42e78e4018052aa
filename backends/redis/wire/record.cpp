// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/record.h"

#include <algorithm>

#include "backends/redis/wire/reply.h"
#include "lib/base/text.h"

namespace dlock::redis {
std::int64_t add_record(Participant& participant, std::string_view record) {
  participant.token = FencingToken(static_cast<std::uint64_t>(leading_number<std::int64_t>(cut(record, ' '))));
  participant.since = from_ms(leading_number<std::int64_t>(cut(record, ' ')));
  const std::int64_t delay = leading_number<std::int64_t>(cut(record, ' '));
  const std::string_view entries = cut(record, ' ');
  participant.count = static_cast<int>(1 + std::count(entries.begin(), entries.end(), ','));
  add_who(participant, record, true);
  return delay;
}

}  // namespace dlock::redis
