// SPDX-License-Identifier: Apache-2.0
// The direct keeper of a family (lib/config/url_schemes.h: is_direct): keeps one lock, and is nothing else.
#include <unistd.h>

#include "cmd/keeper_program.h"

int main() {
  const int status = dlock::run_keeper_program();
#ifndef DLOCK_SANITIZED
  _exit(status);
#endif
  return status;
}
