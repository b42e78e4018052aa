// SPDX-License-Identifier: Apache-2.0
// The keepers of a family that load less (lib/config/url_schemes.h: is_direct, speaks_tls): keeps one lock, and is
// nothing else.
#include <unistd.h>

#include "cmd/wiring/keeper_program.h"

int main() {
  const int status = dlock::run_keeper_program();
#ifndef DLOCK_SANITIZED
  _exit(status);
#endif
  return status;
}
