// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/segment_locks.h"

namespace dlock {

Result<LockName> segment_key(const LockName& stock, int segment) {
  auto key = LockName::parse("stock:" + stock.text() + ":" + std::to_string(segment));
  if (key) return key;
  return Error{ErrorCode::kUnsupported, "the name " + stock.text() + " is too long for --mode lock",
               "use --mode reserve"};
}

}  // namespace dlock
