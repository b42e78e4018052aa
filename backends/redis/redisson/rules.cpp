// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/rules.h"

#include <utility>

#include "backends/redis/wire/reply.h"

namespace dlock::redis {
namespace {

Error unfit(RedissonKind kind, const std::string& what, const std::string& next) {
  return {ErrorCode::kUnsupported, std::string("Redisson's kind=") + kind_word(kind) + " has no " + what, next};
}

}  // namespace

bool hands_out_permits(RedissonKind kind) { return kind == RedissonKind::kSemaphore || kind == RedissonKind::kPermits; }

std::vector<std::string> release_arguments(RedissonKind kind, std::string entry) {
  std::vector<std::string> arguments{std::move(entry)};
  if (kind == RedissonKind::kFair) arguments.push_back(ms_text(kFairWait));
  return arguments;
}

Result<void> check_fits(RedissonKind kind, const LockSpec& spec) {
  if (spec.mode == Mode::kShared && kind != RedissonKind::kReadWrite)
    return unfit(kind, "readers (--shared)", "use kind=rw, if the services use a RReadWriteLock");
  if (spec.mode == Mode::kPermits && !hands_out_permits(kind))
    return unfit(kind, "permits (--permits)", "use kind=permits or kind=semaphore, as the services do");
  if (spec.mode != Mode::kPermits && hands_out_permits(kind) && spec.take) {
    return unfit(
        kind, "exclusive holder: it hands out permits",
        "add --permits N; N permits are created if the key does not exist yet, else one of its permits is taken");
  }
  if (!spec.slots.empty()) return unfit(kind, "named slots (--slots)", "use --permits N");
  if (spec.supersedes != Supersedes::kNothing)
    return unfit(kind, "place for --replace or --newest", "leave the option out, or use layout=native");
  if (spec.fair && kind != RedissonKind::kFair)
    return unfit(kind, "queue (--fair)", "use kind=fair, if the services use a RFairLock");
  if (spec.lock_delay > Duration(0)) return unfit(kind, "lock-delay", "leave it out, or use layout=native");
  return {};
}

Result<void> check_has_tokens(RedissonKind kind) {
  if (kind == RedissonKind::kFenced) return {};
  return unfit(kind, "fencing tokens", "use kind=fenced, if the services use a RFencedLock");
}

}  // namespace dlock::redis
