// SPDX-License-Identifier: Apache-2.0
#include "lib/net/serving_one.h"

#include <optional>
#include <string>

namespace dlock {

CallLimit share_of(const CallLimit& limit, TimePoint now, std::size_t left) {
  return {left <= 1 ? limit.until : now + (limit.until - now) / static_cast<std::int64_t>(left), limit.control};
}

Result<std::size_t> first_that_serves(std::size_t first, std::size_t count, Clock& clock, const CallLimit& limit,
                                      const std::function<Result<void>(std::size_t, const CallLimit&)>& try_one) {
  std::string reasons;
  std::optional<Error> error;
  bool silent = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (first + i) % count;
    const auto tried = try_one(index, share_of(limit, clock.now(), count - i));
    if (tried) return index;
    if (tried.error().code == ErrorCode::kCancelled) return tried.error();
    reasons += (reasons.empty() ? "" : "; ") + tried.error().message;
    silent = silent || tried.error().outage == Outage::kSilent;
    if (!error || error->code == ErrorCode::kUnavailable) error = tried.error();
  }
  error->message = reasons;
  error->undone = error->code == ErrorCode::kUnavailable;
  if (silent) error->outage = Outage::kSilent;
  return *error;
}

}  // namespace dlock
