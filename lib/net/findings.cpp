// SPDX-License-Identifier: Apache-2.0
#include "lib/net/findings.h"

#include <algorithm>

#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr int kFewConnections = 100;
constexpr char kWrites[] = ": accepts writes";

bool is_loopback(const Endpoint& endpoint) {
  return !endpoint.socket.empty() || endpoint.host == "localhost" || endpoint.host == "::1" ||
         endpoint.host.starts_with("127.");
}

}  // namespace

Finding answers_finding(const std::string& server, Duration took) {
  return Finding::ok(server + ": answers in " + human_duration(took));
}

Finding clock_finding(const std::string& server, std::int64_t theirs_us, WallTime ours) {
  const std::int64_t offset_ms = (theirs_us - ours.time_since_epoch() / 1us) / 1000;
  constexpr std::int64_t kFar = 1000;
  std::string what = server + ": clock is " + std::to_string(offset_ms) + " ms from ours";
  if (std::llabs(offset_ms) <= kFar) return Finding::ok(std::move(what));
  return Finding::warn(std::move(what), "leases are not affected; keep clocks in sync (chrony)");
}

Finding encryption_finding(const Endpoint& server, bool encrypted, const std::string& by) {
  const std::string name = server.text();
  if (encrypted)
    return Finding::ok(name + ": encrypted" + (by.empty() ? "" : " (" + by + ")") + ", certificate checked");
  if (is_loopback(server)) return Finding::ok(name + ": not encrypted, on this machine");
  return Finding::warn(name + ": not encrypted: password hashes and statements can be read on the way",
                       "name the CA of the server in the URL: ca-file=/path");
}

Finding connections_finding(const std::string& server, const std::string& most) {
  const std::string what = server + ": up to " + most + " connections; every holder and every waiter needs one";
  return leading_number<int>(most) < kFewConnections ? Finding::warn(what, "raise max_connections") : Finding::ok(what);
}

Finding writes_finding(const std::string& server, bool read_only, const char* kind, bool alone, const char* scheme) {
  if (!read_only) return Finding::ok(server + kWrites);
  const std::string what = server + ": is read-only, " + kind;
  if (!alone) return Finding::ok(what);
  return Finding::fail(what, std::string("give dlock the primary, or all servers: ") + scheme + "://h1,h2/db",
                       ErrorCode::kUnavailable);
}

bool are_several_writable(const std::vector<Finding>& findings) {
  const auto writes = [](const Finding& finding) { return finding.what.ends_with(kWrites); };
  return std::count_if(findings.begin(), findings.end(), writes) > 1;
}

Finding several_writable(const std::string& store, std::string remedy) {
  return Finding::fail(store + ": more than one server accepts writes: each grants the lock", std::move(remedy));
}

}  // namespace dlock
