// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/server_findings.h"

#include <cstdlib>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/redirect.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

using Level = Finding::Verdict;

constexpr Duration kBudget = 5s;
constexpr std::int64_t kClockOffset = 1000;  // ms; leases count by rates, but people read the times

std::string value(const std::map<std::string, std::string>& info, const std::string& name) {
  const auto found = info.find(name);
  return found == info.end() ? std::string() : found->second;
}

Finding eviction(const std::string& server, const std::string& policy) {
  if (policy == "noeviction") return {Level::kOk, server + ": no eviction", {}};
  return {Level::kWarn, server + ": eviction policy " + policy + " may delete locks when memory is short",
          "set maxmemory-policy noeviction"};
}

Finding persistence(const std::string& server, const std::map<std::string, std::string>& info) {
  if (value(info, "aof_enabled") == "1") return {Level::kOk, server + ": append-only file is on", {}};
  return {Level::kWarn, server + ": forgets locks when it restarts (no append-only file)",
          "set appendonly yes; until then a restart ends what runs under a lock"};
}

Finding replicas(const std::string& server, const std::map<std::string, std::string>& info) {
  if (value(info, "role") == "slave") {
    return {Level::kFail, server + ": is a replica, which takes no locks",
            "give dlock the master, or redis+sentinel://"};
  }
  const std::string count = value(info, "connected_slaves");
  if (count.empty() || count == "0") return {Level::kOk, server + ": master without replicas", {}};
  return {Level::kOk, server + ": master with " + count + " replica(s); a failover may lose the latest locks", {}};
}

Finding version(const std::string& server, const std::string& text) {
  if (leading_number<int>(text) >= 6) return {Level::kOk, server + ": version " + text, {}};
  return {Level::kWarn, server + ": version " + text + " cannot tell waiters of foreign releases",
          "use Redis 6 or later"};
}

/// What the user of the URL may do, tried on keys that mean nothing.
Finding rights(const std::string& server, Connection& connection, const ChannelRights& channels, Clock& clock) {
  const TimePoint until = clock.now() + kBudget;
  const auto replies =
      exchange(connection,
               {{"EVAL", "redis.call('GET',KEYS[1]) redis.call('TIME') return 1", "1", "dlock:{doctor}:fence"},
                {"EVAL", "return redis.call('PUBLISH',ARGV[1],'x')", "0", channels.example}},
               clock, until, until, nullptr);
  if (!replies) return {Level::kFail, replies.error().message, replies.error().next, replies.error().code};
  const Reply& script = (*replies)[0];
  if (is_unknown_command(script)) {
    const Error error = *error_of(script, server);
    return {Level::kFail, error.message, error.next, error.code};
  }
  const Refusal refusal = refusal_of(script);
  if (refusal == Refusal::kLater || refusal == Refusal::kElsewhere) {
    return {Level::kFail, server + " is not ready: " + words_of(script), "its log says more; then ask again",
            ErrorCode::kUnavailable};
  }
  // A node of a cluster looks at the rights first, and then at whose slot it is.
  if (script.is_error() && refusal != Refusal::kMoved && refusal != Refusal::kAsk) {
    return {Level::kFail, server + ": " + words_of(script), "grant what man dlock-redis lists", ErrorCode::kDenied};
  }
  if ((*replies)[1].is_error()) {
    return {Level::kWarn, server + ": may not publish, so waiters look by themselves",
            "grant the channels: ACL SETUSER ... " + channels.grant};
  }
  return {Level::kOk, server + ": scripts and channels are allowed", {}};
}

void examine(Connection& connection, const ChannelRights& channels, const Runtime& runtime,
             std::vector<Finding>& findings) {
  const std::string server = connection.settings().endpoint.text();
  const TimePoint before = runtime.clock.now();
  const TimePoint until = before + kBudget;
  const auto replies = exchange(connection, {{"PING"}}, runtime.clock, until, until, nullptr);
  if (!replies) {
    findings.push_back({Level::kFail, replies.error().message, replies.error().next, replies.error().code});
    return;
  }
  const TimePoint asked = runtime.clock.now();
  const auto more = exchange(connection, {{"TIME"}, {"INFO"}}, runtime.clock, until, until, nullptr);
  const auto wall = runtime.clock.wall();
  if (!more) {
    findings.push_back({Level::kFail, more.error().message, more.error().next, more.error().code});
    return;
  }
  findings.push_back({Level::kOk, server + ": answers in " + human_duration(runtime.clock.now() - asked), {}});
  const Reply& time = (*more)[0];
  if (time.elements.size() == 2) {
    const std::int64_t theirs = leading_number<std::int64_t>(time.elements[0].text) * 1000 +
                                leading_number<std::int64_t>(time.elements[1].text) / 1000;
    const std::int64_t offset = theirs - wall.time_since_epoch() / 1ms;
    const std::string text = server + ": clock is " + std::to_string(offset) + " ms from ours";
    const bool far = std::llabs(offset) > kClockOffset;
    findings.push_back(
        {far ? Level::kWarn : Level::kOk, text, far ? "leases do not mind; keep clocks in step (chrony)" : ""});
  }
  const Reply& info = (*more)[1];
  if (info.is_error()) {
    const std::string why = is_denied(info) ? "" : ": " + words_of(info);
    findings.push_back({Level::kWarn, server + ": INFO is refused, so its settings are not known" + why,
                        why.empty() ? "grant +info to this user" : ""});
  } else {
    const auto judged = judge_info(server, parse_info(info.text));
    findings.insert(findings.end(), judged.begin(), judged.end());
  }
  findings.push_back(rights(server, connection, channels, runtime.clock));
}

}  // namespace

std::vector<Finding> judge_info(const std::string& server, const std::map<std::string, std::string>& info) {
  std::vector<Finding> findings;
  if (const auto v = value(info, "redis_version"); !v.empty()) findings.push_back(version(server, v));
  if (const auto p = value(info, "maxmemory_policy"); !p.empty()) findings.push_back(eviction(server, p));
  if (!value(info, "aof_enabled").empty()) findings.push_back(persistence(server, info));
  if (!value(info, "role").empty()) findings.push_back(replicas(server, info));
  if (value(info, "active_replica") == "1" || value(info, "multi_master") == "1") {
    findings.push_back({Level::kFail, server + ": active replication grants one lock twice", "use a single master"});
  }
  return findings;
}

std::vector<Finding> diagnose_servers(Deployment& deployment, const std::string& store, const ChannelRights& channels,
                                      const Runtime& runtime) {
  std::vector<Finding> findings;
  const auto servers = deployment.all_servers(runtime.clock.now() + kBudget);
  if (!servers) {
    const Error& error = servers.error();
    return {{Level::kFail, store + ": " + error.message, error.next, error.code}};
  }
  for (Connection* server : *servers) examine(*server, channels, runtime, findings);
  return findings;
}

}  // namespace dlock::redis
