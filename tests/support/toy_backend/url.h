// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/config/url_schemes.h"

namespace dlock::toy {

inline constexpr std::uint32_t kToyUrl = kOwnUrlTopic;

/// toy:/dir: rows lie in files of that directory.
inline constexpr UrlScheme kUrlSchemes[] = {
    {"toy", UrlShape::kDirectory, UrlPath::kNone, 0, kToyUrl},
};

inline constexpr UrlParam kUrlParams[] = {
    {"colour", "red|blue", kToyUrl, ""},
};

inline constexpr UrlTable kUrls{"toy", kUrlSchemes, kUrlParams, "toy:"};

}  // namespace dlock::toy
