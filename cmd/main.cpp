// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "cmd/program.h"

int main(int argc, char** argv) {
  const int status = dlock::run_program(argc, argv);
#ifndef DLOCK_SANITIZED  // which looks for leaks at exit
  _exit(status);         // nothing is buffered, and the end of a process is part of its start-up cost
#endif
  return status;
}
