// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_errors.h"

#include <doctest/doctest.h>

namespace exclusive_only_test {

using namespace dlock;

TEST_CASE("what a plain exclusive lock has not is refused by its name") {
  struct Row {
    void (*ask)(LockSpec&);
    const char* has_no;
  };
  const Row rows[] = {{[](LockSpec& spec) { spec.mode = Mode::kShared; }, "RedLock has no shared locks: "},
                      {[](LockSpec& spec) { spec.mode = Mode::kPermits; }, "RedLock has no permits: "},
                      {[](LockSpec& spec) { spec.fair = true; }, "RedLock has no fair queue (--fair): "},
                      {[](LockSpec& spec) { spec.lock_delay = Duration(1); }, "RedLock has no lock-delay: "}};
  LockSpec plain{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = {}, .ancestor = {}};
  CHECK(check_exclusive_only(plain, "RedLock"));
  for (const Row& row : rows) {
    CAPTURE(row.has_no);
    LockSpec spec = plain;
    row.ask(spec);
    const auto refused = check_exclusive_only(spec, "RedLock");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kUnsupported);
    CHECK(refused.error().message.starts_with(row.has_no));
  }
}

}  // namespace exclusive_only_test
