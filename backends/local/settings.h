// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/config/backend_url.h"

namespace dlock::local {

/// Settings of a URL: local: or local:/dir, with ?allow-network-fs=1 and, for stocks, ?sync=.
struct Settings {
  std::string store;              ///< redacted URL
  std::string directory;          ///< of local:/dir; empty: the default one
  bool allow_network_fs = false;  ///< the user says that its locks work
  bool durable_stock = true;      ///< answers of a stock survive the loss of power
};

Settings settings_of(const BackendUrl& url);

}  // namespace dlock::local
