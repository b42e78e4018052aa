// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/doctor.h"

#include "backends/redis/deployment/server_findings.h"

namespace dlock::redis {
namespace {

Finding about(RedissonKind kind) {
  if (kind == RedissonKind::kSemaphore) {
    return Finding::warn("kind=semaphore: a permit of a service that died is never given back",
                         "use kind=permits, whose permits end by themselves; dlock gives back what a dlock has left");
  }
  return Finding::ok(std::string("kind=") + kind_word(kind));
}

}  // namespace

std::vector<Finding> diagnose_redisson(Deployment& deployment, RedissonKind kind, const std::string& store,
                                       const Runtime& runtime) {
  NeededRights needed{commands_of_scripts(),
                      {"exists"},
                      "redisson_lock__channel:{dlock-doctor}",
                      "'&redisson_*' '&__redis__:invalidate'"};
  for (const char* command : {"type", "hincrby", "hkeys", "incr", "incrby", "decrby", "zincrby", "lrange", "lindex",
                              "lpop", "rpush", "lrem"}) {
    needed.commands.emplace_back(command);
  }
  auto findings = diagnose_servers(deployment, store, needed, runtime);
  findings.push_back(about(kind));
  return findings;
}

}  // namespace dlock::redis
