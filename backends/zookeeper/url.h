// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/config/url_schemes.h"

namespace dlock::zookeeper {

/// The URLs of this backend. Compiled into every program: dlock refuses what no backend takes before it starts one.
inline constexpr std::uint32_t kZookeeperUrl = kOwnUrlTopic;

inline constexpr UrlScheme kUrlSchemes[] = {
    {"zk", UrlShape::kHosts, UrlPath::kAnywhere, 2181, kServerUrl | kZookeeperUrl},
};

inline constexpr UrlParam kUrlParams[] = {
    {"recipe", "curator|rw|semaphore-mutex|kazoo|simple", kZookeeperUrl, ""},
};

inline constexpr UrlTable kUrls{"zookeeper", kUrlSchemes, kUrlParams, "zk://"};

}  // namespace dlock::zookeeper
