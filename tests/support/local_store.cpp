// SPDX-License-Identifier: Apache-2.0
#include "tests/support/local_store.h"

#include "backends/local/local_backend.h"

namespace dlock::testing {

std::unique_ptr<Backend> local_store(const std::string& directory) {
  static SystemClock clock;
  static const Log log;
  BackendUrl url;
  url.family = Family::kLocal;
  url.scheme = "local";
  url.path = directory;
  return std::move(*make_local_backend(url, Runtime{clock, log}));
}

}  // namespace dlock::testing
