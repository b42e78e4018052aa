// SPDX-License-Identifier: Apache-2.0
#include "backends/local/settings.h"

namespace dlock::local {

Settings settings_of(const BackendUrl& url) {
  return {.store = url.redacted(),
          .directory = url.path,
          .allow_network_fs = url.param("allow-network-fs") == "1",
          .durable_stock = url.param("sync") != "normal"};
}

}  // namespace dlock::local
