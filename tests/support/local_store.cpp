// SPDX-License-Identifier: Apache-2.0
#include "tests/support/local_store.h"

#include "backends/local/backend.h"

namespace dlock::testing {

std::unique_ptr<Client> local_store(const std::string& directory) {
  static SystemClock clock;
  static const Log log;
  BackendUrl url;
  url.family = "local";
  url.scheme = "local";
  url.path = directory;
  const Runtime runtime{clock, log};
  return std::make_unique<Client>(std::move(*make_local_admin(url, runtime)), open_local_sessions(url, runtime));
}

}  // namespace dlock::testing
