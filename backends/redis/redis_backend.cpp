// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redis_backend.h"

#include "backends/redis/deployment/url_deployment.h"

#include "backends/redis/native/native_backend.h"
#include "backends/redis/native/native_lock.h"
#include "backends/redis/quorum/redlock.h"
#include "backends/redis/quorum/tair.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;

Duration connect_timeout_of(const LockSpec& spec) {
  return spec.wait.connect_timeout > 0s ? spec.wait.connect_timeout : kConnectTimeout;
}

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_redis_backend(const BackendUrl& url, const Runtime& runtime) {
  if (url.scheme == "redlock") return redis::make_redlock_backend(url, runtime);
  if (url.scheme == "tair") return redis::make_tair_backend(url, runtime);
  auto deployment = redis_deployment(url, runtime.clock, kConnectTimeout);
  if (!deployment) return deployment.error();
  return std::unique_ptr<LockAdmin>(
      std::make_unique<redis::NativeBackend>(std::move(*deployment), url.redacted(), redis_replicas(url), runtime));
}

Result<std::unique_ptr<LockDriver>> keep_redis_lock(const BackendUrl& url, const LockSpec& spec,
                                                    const Runtime& runtime) {
  if (url.scheme == "redlock") return redis::keep_redlock(url, spec, runtime);
  if (url.scheme == "tair") return redis::keep_tair(url, spec, runtime);
  auto deployment = redis_deployment(url, runtime.clock, connect_timeout_of(spec), redis::Greet::kAlong);
  if (!deployment) return deployment.error();
  auto names = redis::native_names(spec.name);
  if (!names) return names.error();
  return std::unique_ptr<LockDriver>(std::make_unique<redis::NativeLock>(
      std::move(*deployment), std::move(*names), url.redacted(), spec, redis_replicas(url), runtime));
}

}  // namespace dlock
