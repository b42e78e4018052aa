// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/doctor.h"

#include "backends/mysql/ask.h"
#include "backends/mysql/server_errors.h"

namespace dlock::mysql {

std::vector<Finding> diagnose_servers(const Settings& settings, const Dial& dial, const Runtime& runtime) {
  std::vector<Finding> findings;
  for (const DatabaseSettings& server : settings.servers) {
    const TimePoint until = runtime.clock.now() + std::chrono::seconds(5);
    auto database = dial(server);
    const Outcome outcome = await(*database, runtime.clock, until, nullptr);
    if (const auto* failure = std::get_if<Failure>(&outcome)) {
      const Error error = error_of(*failure, server.endpoint.text());
      findings.push_back({Finding::Verdict::kFail, error.message, error.next, error.code});
      continue;
    }
    findings.push_back({Finding::Verdict::kOk, server.endpoint.text() + ": answers", {}});
  }
  return findings;
}

}  // namespace dlock::mysql
