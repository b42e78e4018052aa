// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/local/files/directory.h"
#include "lib/config/url_schemes.h"

namespace dlock::local {

/// The URLs of this backend. Compiled into every program: dlock refuses what no backend takes before it starts one.
inline constexpr std::uint32_t kDirectoryUrl = kOwnUrlTopic;

inline constexpr UrlScheme kUrlSchemes[] = {
    {"local", UrlShape::kDirectory, UrlPath::kNone, 0, kDirectoryUrl},
};

inline constexpr UrlParam kUrlParams[] = {
    {"allow-network-fs", "<bool>", kDirectoryUrl, ""},
    {"sync", "full|normal", kDirectoryUrl, ""},
};

inline constexpr UrlTable kUrls{"local",  kUrlSchemes, kUrlParams,
                                "local:", "",          {"system", kSystemDirectory, usual_directory}};

}  // namespace dlock::local
