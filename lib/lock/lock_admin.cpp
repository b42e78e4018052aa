// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_admin.h"

#include <utility>

namespace dlock {

Finding Finding::ok(std::string what) { return {Verdict::kOk, std::move(what), {}}; }

Finding Finding::warn(std::string what, std::string remedy) {
  return {Verdict::kWarn, std::move(what), std::move(remedy)};
}

Finding Finding::fail(std::string what, std::string remedy, ErrorCode failure) {
  return {Verdict::kFail, std::move(what), std::move(remedy), failure};
}

Finding Finding::fail(const Error& error) { return fail(error.message, error.next, error.code); }

Finding clock_finding(const std::string& server, std::int64_t offset_ms) {
  constexpr std::int64_t kFar = 1000;
  std::string what = server + ": clock is " + std::to_string(offset_ms) + " ms from ours";
  if (std::llabs(offset_ms) <= kFar) return Finding::ok(std::move(what));
  return Finding::warn(std::move(what), "leases are not affected; keep clocks in sync (chrony)");
}

}  // namespace dlock
