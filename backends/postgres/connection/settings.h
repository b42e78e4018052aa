// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/result.h"
#include "lib/net/database_url.h"

namespace dlock::postgres {

/// How locks are kept in the database (?strategy=).
enum class Strategy { kLease, kSession };

struct Settings : DatabaseUrl {
  Strategy strategy = Strategy::kLease;
};

/// Errors as of database_url().
Result<Settings> settings_of(const BackendUrl& url);

}  // namespace dlock::postgres
