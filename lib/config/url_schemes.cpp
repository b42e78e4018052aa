// SPDX-License-Identifier: Apache-2.0
#include "lib/config/url_schemes.h"

#include <algorithm>

#include "lib/base/text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

enum Topic : std::uint32_t {
  kLocalTopic = 1,
  kServerTopic = 2,
  kTlsTopic = 4,
  kRedisTopic = 8,
  kSocketTopic = 16,
  kSentinelTopic = 32,
  kTairTopic = 64,
  kZookeeperTopic = 128,
  kMysqlTopic = 256,
};

constexpr std::uint32_t kRedisServer = kServerTopic | kRedisTopic;

constexpr UrlScheme kSchemes[] = {
    {"local", Family::kLocal, UrlShape::kDirectory, UrlPath::kNone, 0, kLocalTopic},
    {"redis", Family::kRedis, UrlShape::kOneHost, UrlPath::kDatabaseNumber, 6379, kRedisServer},
    {"rediss", Family::kRedis, UrlShape::kOneHost, UrlPath::kDatabaseNumber, 6379, kRedisServer | kTlsTopic},
    {"redis+unix", Family::kRedis, UrlShape::kSocket, UrlPath::kNone, 0, kRedisServer | kSocketTopic},
    {"redis+sentinel", Family::kRedis, UrlShape::kHosts, UrlPath::kMaster, 26379, kRedisServer | kSentinelTopic},
    {"rediss+sentinel", Family::kRedis, UrlShape::kHosts, UrlPath::kMaster, 26379,
     kRedisServer | kSentinelTopic | kTlsTopic},
    {"redis+cluster", Family::kRedis, UrlShape::kHosts, UrlPath::kNone, 6379, kRedisServer},
    {"rediss+cluster", Family::kRedis, UrlShape::kHosts, UrlPath::kNone, 6379, kRedisServer | kTlsTopic},
    {"redlock", Family::kRedis, UrlShape::kHosts, UrlPath::kDatabaseNumber, 6379, kServerTopic},
    {"tair", Family::kRedis, UrlShape::kOneHost, UrlPath::kDatabaseNumber, 6379, kServerTopic | kTairTopic},
    {"zk", Family::kZookeeper, UrlShape::kHosts, UrlPath::kAnywhere, 2181, kServerTopic | kZookeeperTopic},
    {"mysql", Family::kMysql, UrlShape::kHosts, UrlPath::kDatabaseName, 3306, kServerTopic | kMysqlTopic | kTlsTopic},
};

constexpr UrlParam kParams[] = {
    {"allow-network-fs", "<bool>", kLocalTopic, ""},
    {"sync", "full|normal", kLocalTopic, ""},
    {"password-file", "<file>", kServerTopic, ""},
    {"ca-file", "<file>", kTlsTopic, ""},
    {"cert-file", "<file>", kTlsTopic, ""},
    {"key-file", "<file>", kTlsTopic, ""},
    {"server-name", "<text>", kTlsTopic, ""},
    {"db", "<number>", kSocketTopic, ""},
    {"layout", "native|redisson", kRedisTopic, ""},
    {"kind", "lock|fair|rw|fenced|semaphore|permits|spin", kRedisTopic, "layout=redisson"},
    {"wait_replicas", "<number>|all", kRedisTopic, ""},
    {"stock", "script|decr", kRedisTopic, ""},
    {"stock_slots", "<number>", kRedisTopic | kTairTopic, ""},
    {"sentinel-user", "<text>", kSentinelTopic, ""},
    {"sentinel-password-file", "<file>", kSentinelTopic, ""},
    {"mode", "cas|ex", kTairTopic, ""},
    {"recipe", "bridge|mutex|semaphore-mutex|rw|semaphore|kazoo-lock|kazoo-rw|kazoo-semaphore|simple", kZookeeperTopic,
     ""},
    {"strategy", "lease|session|row|unique|occupy", kMysqlTopic, ""},
    {"row", "<text>", kMysqlTopic, "strategy=row"},
    {"stock", "guarded|pessimistic|optimistic", kMysqlTopic, ""},
    {"socket", "<file>", kMysqlTopic, ""},
};

/// Calls `use` with each alternative of "a|b|<number>" until it says true.
template <typename Use>
bool any_alternative(std::string_view values, Use use) {
  while (!values.empty()) {
    if (use(cut(values, '|'))) return true;
  }
  return false;
}

bool is_number(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && text.size() <= 9;
}

bool value_fits(std::string_view alternative, std::string_view value) {
  if (alternative == "<text>") return !value.empty();
  if (alternative == "<file>") return value.starts_with('/');
  if (alternative == "<number>") return is_number(value);
  if (alternative == "<bool>") return value == "0" || value == "1";
  return alternative == value;
}

/// Where one may write '-' for '_' and the other way round.
bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x == '_' ? '-' : x) == (y == '_' ? '-' : y); });
}

Error unknown_param(const UrlScheme& scheme, std::string_view name) {
  Nearest nearest(name);
  std::string all;
  for (const UrlParam& param : kParams) {
    if ((param.topic & scheme.topics) == 0) continue;
    nearest.offer(param.name);
    all.append(all.empty() ? "it has: " : ", ").append(param.name);
  }
  return {ErrorCode::kMisconfigured,
          "a " + std::string(scheme.name) + " URL has no parameter '" + std::string(name.substr(0, 64)) + "'",
          did_you_mean(nearest.best(), all)};
}

Error bad_value(const UrlParam& param, std::string_view value) {
  Nearest nearest(value);
  any_alternative(param.values, [&](std::string_view one) {
    if (one.front() != '<') nearest.offer(one);
    return false;
  });
  const bool file = param.values == "<file>";
  return {ErrorCode::kMisconfigured,
          "the URL parameter " + std::string(param.name) + " cannot be '" + std::string(value.substr(0, 64)) + "'",
          did_you_mean(nearest.best(), file ? "it takes an absolute path" : "it takes " + std::string(param.values))};
}

/// An IPv4 or IPv6 address, right or wrong, or the name that needs no asking.
bool is_numeric(const std::string& host) {
  return host == "localhost" || host.find(':') != std::string::npos ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

std::span<const UrlScheme> url_schemes() { return kSchemes; }
std::span<const UrlParam> url_params() { return kParams; }

const UrlScheme* find_url_scheme(std::string_view name) {
  for (const UrlScheme& scheme : kSchemes) {
    if (scheme.name == name) return &scheme;
  }
  return nullptr;
}

const UrlParam* find_url_param(const UrlScheme& scheme, std::string_view name) {
  for (const UrlParam& param : kParams) {
    if ((param.topic & scheme.topics) != 0 && same_name(param.name, name)) return &param;
  }
  return nullptr;
}

Result<std::string_view> check_url_param(const UrlScheme& scheme, std::string_view name, std::string_view value) {
  const UrlParam* param = find_url_param(scheme, name);
  if (param == nullptr) return unknown_param(scheme, name);
  const bool fits = any_alternative(param->values, [&](std::string_view one) { return value_fits(one, value); });
  if (!fits) return bad_value(*param, value);
  return param->name;
}

Result<void> check_url_params_together(const UrlScheme& scheme, const std::map<std::string, std::string>& params) {
  for (const auto& [name, value] : params) {
    const UrlParam* param = find_url_param(scheme, name);
    if (param == nullptr || param->needs.empty()) continue;
    const std::string needs(param->needs);
    const auto other = params.find(needs.substr(0, needs.find('=')));
    if (other != params.end() && other->second == needs.substr(needs.find('=') + 1)) continue;
    return Error{ErrorCode::kMisconfigured, "the URL parameter " + name + " means nothing without " + needs,
                 "add " + needs + ", or leave " + name + " out"};
  }
  return {};
}

bool speaks_tls(const BackendUrl& url) {
  const UrlScheme* scheme = find_url_scheme(url.scheme);
  return !scheme || (scheme->topics & kTlsTopic) != 0;
}

bool is_direct(const BackendUrl& url) {
  // Sentinels and clusters name other servers, as they like.
  const bool finds_others = url.scheme.ends_with("+sentinel") || url.scheme.ends_with("+cluster");
  if (speaks_tls(url) || finds_others) return false;
  return std::all_of(url.hosts.begin(), url.hosts.end(),
                     [](const BackendUrl::Host& host) { return is_numeric(host.name); });
}

}  // namespace dlock
