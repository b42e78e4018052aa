// SPDX-License-Identifier: Apache-2.0
// The program of a family of backends: "dlock-NAME --keeper" keeps one lock for the dlock that started it; with any
// other arguments it is the same command line as dlock.
#include <unistd.h>

#include <string_view>

#include "cmd/program.h"
#include "cmd/wiring/keeper_program.h"

int main(int argc, char** argv) {
  const bool keeper = argc == 2 && std::string_view(argv[1]) == "--keeper";
  const int status = keeper ? dlock::run_keeper_program() : dlock::run_program(argc, argv);
#ifndef DLOCK_SANITIZED
  _exit(status);
#endif
  return status;
}
