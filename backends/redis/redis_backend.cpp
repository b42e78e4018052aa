// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redis_backend.h"

#include <cstdlib>

#include "backends/redis/deployment.h"
#include "backends/redis/native_backend.h"
#include "backends/redis/native_lock.h"
#include "backends/redis/redlock.h"
#include "backends/redis/tair.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;

Duration connect_timeout_of(const LockSpec& spec) {
  return spec.wait.connect_timeout > 0s ? spec.wait.connect_timeout : kConnectTimeout;
}

}  // namespace

Result<std::unique_ptr<redis::Deployment>> redis_deployment(const BackendUrl& url, Clock& clock,
                                                            Duration connect_timeout, redis::Greet greet) {
  if (const auto layout = url.params.find("layout"); layout != url.params.end() && layout->second != "native") {
    return Error{ErrorCode::kUnsupported, "layout=" + layout->second + " is not part of this release",
                 "use layout=native"};
  }
  if (url.scheme.ends_with("+sentinel")) return redis::sentinel_deployment(url, clock, connect_timeout, greet);
  if (url.scheme.ends_with("+cluster")) return redis::cluster_deployment(url, clock, connect_timeout, greet);
  return redis::single_deployment(url, clock, connect_timeout, greet);
}

redis::ReplicaDemand redis_replicas(const BackendUrl& url) {
  const auto wanted = url.params.find("wait_replicas");
  if (wanted == url.params.end()) return {};
  if (wanted->second == "all") return {0, true};
  return {std::atoi(wanted->second.c_str()), false};
}

Result<std::unique_ptr<Backend>> make_redis_backend(const BackendUrl& url, const Runtime& runtime) {
  if (url.scheme == "redlock") return redis::make_redlock_backend(url, runtime);
  if (url.scheme == "tair") return redis::make_tair_backend(url, runtime);
  auto deployment = redis_deployment(url, runtime.clock, kConnectTimeout);
  if (!deployment) return deployment.error();
  return std::unique_ptr<Backend>(
      std::make_unique<redis::NativeBackend>(std::move(*deployment), url.redacted(), redis_replicas(url), runtime));
}

Result<std::unique_ptr<KeptLock>> keep_redis_lock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  if (url.scheme == "redlock") return redis::keep_redlock(url, spec, runtime);
  if (url.scheme == "tair") return redis::keep_tair(url, spec, runtime);
  auto deployment = redis_deployment(url, runtime.clock, connect_timeout_of(spec), redis::Greet::kAlong);
  if (!deployment) return deployment.error();
  auto names = redis::native_names(spec.name);
  if (!names) return names.error();
  return std::unique_ptr<KeptLock>(std::make_unique<redis::NativeLock>(
      std::move(*deployment), std::move(*names), url.redacted(), spec, redis_replicas(url), runtime));
}

}  // namespace dlock
