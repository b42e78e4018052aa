// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/exit_status.h"

namespace dlock {

int fail(const Log& log, const Error& error) {
  log.error(error);
  return exit_status(error.code);
}

}  // namespace dlock
