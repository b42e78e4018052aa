// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/config/url_schemes.h"

namespace dlock::postgres {

/// The URLs of this backend. Compiled into every program: dlock refuses what no backend takes before it starts one.
inline constexpr std::uint32_t kPostgresUrl = kOwnUrlTopic;

inline constexpr UrlScheme kUrlSchemes[] = {
    {"postgres", UrlShape::kHosts, UrlPath::kDatabaseName, 5432, kServerUrl | kTlsUrl | kPostgresUrl},
};

inline constexpr UrlParam kUrlParams[] = {
    {"strategy", "lease|session", kPostgresUrl, ""},
    {"socket", "<file>", kPostgresUrl, ""},
};

inline constexpr UrlTable kUrls{"postgres", kUrlSchemes, kUrlParams, "postgres://"};

}  // namespace dlock::postgres
