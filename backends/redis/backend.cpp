// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/backend.h"

#include "backends/redis/native/layout.h"
#include "backends/redis/quorum/rounds.h"
#include "backends/redis/redisson/layout.h"

namespace dlock {
namespace {

bool is_quorum(const BackendUrl& url) { return url.scheme == "redlock" || url.scheme == "tair"; }

bool is_redisson(const BackendUrl& url) { return url.param("layout") == "redisson"; }

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_redis_admin(const BackendUrl& url, const Runtime& runtime) {
  if (is_quorum(url)) return redis::make_quorum_admin(url, runtime);
  if (is_redisson(url)) return redis::make_redisson_admin(url, runtime);
  return redis::make_native_admin(url, runtime);
}

Result<std::unique_ptr<LockDriver>> keep_redis_lock(const BackendUrl& url, const LockSpec& spec,
                                                    const Runtime& runtime) {
  if (is_quorum(url)) return redis::keep_quorum_lock(url, spec, runtime);
  if (is_redisson(url)) return redis::keep_redisson_lock(url, spec, runtime);
  return redis::keep_native_lock(url, spec, runtime);
}

}  // namespace dlock
