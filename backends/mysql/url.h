// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/config/url_schemes.h"

namespace dlock::mysql {

/// The URLs of this backend. Compiled into every program: dlock refuses what no backend takes before it starts one.
inline constexpr std::uint32_t kMysqlUrl = kOwnUrlTopic;

inline constexpr UrlScheme kUrlSchemes[] = {
    {"mysql", UrlShape::kHosts, UrlPath::kDatabaseName, 3306, kServerUrl | kTlsUrl | kMysqlUrl},
};

inline constexpr UrlParam kUrlParams[] = {
    {"strategy", "lease|session|row|unique|occupy", kMysqlUrl, ""},
    {"row", "<text>", kMysqlUrl, "strategy=row"},
    {"table", "<name>", kMysqlUrl, "strategy=unique|occupy"},
    {"column", "<name>", kMysqlUrl, "table"},
    {"state", "<name>", kMysqlUrl, "strategy=occupy&table"},
    {"version", "<name>", kMysqlUrl, "strategy=occupy&table"},
    {"free", "<number>", kMysqlUrl, "strategy=occupy&table"},
    {"taken", "<number>", kMysqlUrl, "strategy=occupy&table"},
    {"socket", "<file>", kMysqlUrl, ""},
};

inline constexpr UrlTable kUrls{"mysql", kUrlSchemes, kUrlParams, "mysql://"};

}  // namespace dlock::mysql
