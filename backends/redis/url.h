// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/config/url_schemes.h"

namespace dlock::redis {

/// The URLs of this backend. Compiled into every program: dlock refuses what no backend takes before it starts one.
inline constexpr std::uint32_t kNativeUrl = kOwnUrlTopic;
inline constexpr std::uint32_t kSocketUrl = kOwnUrlTopic << 1;
inline constexpr std::uint32_t kSentinelUrl = kOwnUrlTopic << 2;
inline constexpr std::uint32_t kTairUrl = kOwnUrlTopic << 3;

inline constexpr std::uint32_t kNativeServer = kServerUrl | kNativeUrl;
inline constexpr std::uint32_t kSentinels = kNativeServer | kSentinelUrl | kNamesOthersUrl;
inline constexpr std::uint32_t kCluster = kNativeServer | kNamesOthersUrl;

inline constexpr UrlScheme kUrlSchemes[] = {
    {"redis", UrlShape::kOneHost, UrlPath::kDatabaseNumber, 6379, kNativeServer},
    {"rediss", UrlShape::kOneHost, UrlPath::kDatabaseNumber, 6379, kNativeServer | kTlsUrl},
    {"redis+unix", UrlShape::kSocket, UrlPath::kNone, 0, kNativeServer | kSocketUrl},
    {"redis+sentinel", UrlShape::kHosts, UrlPath::kMaster, 26379, kSentinels},
    {"rediss+sentinel", UrlShape::kHosts, UrlPath::kMaster, 26379, kSentinels | kTlsUrl},
    {"redis+cluster", UrlShape::kHosts, UrlPath::kNone, 6379, kCluster},
    {"rediss+cluster", UrlShape::kHosts, UrlPath::kNone, 6379, kCluster | kTlsUrl},
    {"redlock", UrlShape::kHosts, UrlPath::kDatabaseNumber, 6379, kServerUrl, 2},
    {"tair", UrlShape::kOneHost, UrlPath::kDatabaseNumber, 6379, kServerUrl | kTairUrl},
};

inline constexpr UrlParam kUrlParams[] = {
    {"db", "<number>", kSocketUrl, ""},
    {"layout", "native|redisson", kNativeUrl, ""},
    {"kind", "lock|fair|rw|fenced", kNativeUrl, "layout=redisson"},
    {"wait_replicas", "<number>|all", kNativeUrl, ""},
    {"address-map", "<text>", kNamesOthersUrl, ""},
    {"sentinel-user", "<text>", kSentinelUrl, ""},
    {"sentinel-password-file", "<file>", kSentinelUrl, ""},
};

inline constexpr UrlTable kUrls{
    "redis", kUrlSchemes, kUrlParams, "redis://, redlock://, tair://",
    "several servers are redis+sentinel://h1,h2/MASTER, redis+cluster://h1,h2 or redlock://h1,h2,h3"};

}  // namespace dlock::redis
