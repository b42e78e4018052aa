// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/doctor.h"

#include "backends/redis/deployment/server_findings.h"

namespace dlock::redis {

std::vector<Finding> diagnose_native(Deployment& deployment, const std::string& store, const Runtime& runtime) {
  const NeededRights needed{
      commands_of_scripts(), {"type", "exists"}, "dlock:{doctor}:wake:x", "'&dlock:*' '&__redis__:invalidate'"};
  return diagnose_servers(deployment, store, needed, runtime);
}

}  // namespace dlock::redis
