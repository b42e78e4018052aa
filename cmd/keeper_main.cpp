// SPDX-License-Identifier: Apache-2.0
// The program of a family of backends: "dlock-NAME --keeper" keeps one lock for the dlock that started it; with any
// other arguments it is the same command line as dlock.
#include <unistd.h>

#include <string_view>

#include "backends/registry.h"
#include "cmd/program.h"
#include "lib/keeper/keeper_loop.h"

namespace {

dlock::Result<std::unique_ptr<dlock::KeptLock>> open_lock(const dlock::AcquireRequest& request,
                                                          const dlock::Runtime& runtime) {
  for (const dlock::RegisteredBackend& row : dlock::registered_backends()) {
    if (request.url.scheme == row.scheme) return row.keep(request.url, request.spec, runtime);
  }
  return dlock::Error{dlock::ErrorCode::kUnsupported, "this program keeps no locks of " + request.url.redacted()};
}

}  // namespace

int main(int argc, char** argv) {
  const bool keeper = argc == 2 && std::string_view(argv[1]) == "--keeper";
  const int status = keeper ? dlock::run_keeper(open_lock) : dlock::run_program(argc, argv);
#ifndef __SANITIZE_ADDRESS__
  _exit(status);
#endif
  return status;
}
