// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/exit_status.h"

#include <doctest/doctest.h>

namespace exit_status_test {

using namespace dlock;

TEST_CASE("every error has the exit status that the manual promises") {
  CHECK(exit_status(ErrorCode::kBusy) == 75);
  CHECK(exit_status(ErrorCode::kUnavailable) == 69);
  CHECK(exit_status(ErrorCode::kLost) == 79);
  CHECK(exit_status(ErrorCode::kOverheld) == 124);
  CHECK(exit_status(ErrorCode::kInvalid) == 64);
  CHECK(exit_status(ErrorCode::kMisconfigured) == 78);
  CHECK(exit_status(ErrorCode::kUnsupported) == 78);
  CHECK(exit_status(ErrorCode::kConflict) == 78);
  CHECK(exit_status(ErrorCode::kDenied) == 77);
  CHECK(exit_status(ErrorCode::kSystem) == 71);
  CHECK(exit_status(ErrorCode::kInternal) == 70);
}

}  // namespace exit_status_test
