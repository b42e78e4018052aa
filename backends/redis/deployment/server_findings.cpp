// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/server_findings.h"

#include <algorithm>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/redirect.h"
#include "backends/redis/deployment/scripts.h"
#include "lib/base/text.h"
#include "lib/net/findings.h"

namespace dlock::redis {
namespace {

constexpr const char* kKey = "dlock:{doctor}:fence";  ///< means nothing

Finding eviction(const std::string& server, const std::string& policy) {
  if (policy == "noeviction") return Finding::ok(server + ": no eviction");
  return Finding::warn(server + ": eviction policy " + policy + " may delete locks when memory is short",
                       "set maxmemory-policy noeviction");
}

Finding persistence(const std::string& server, const ServerInfo& info) {
  if (info.text("aof_enabled") == "1") return Finding::ok(server + ": append-only file is on");
  return Finding::warn(server + ": forgets locks when it restarts (no append-only file)",
                       "set appendonly yes; until then a restart ends what runs under a lock");
}

Finding replicas(const std::string& server, const ServerInfo& info) {
  if (info.text("role") == "slave") {
    return Finding::fail(server + ": is a replica, which takes no locks",
                         "give dlock the master, or redis+sentinel://");
  }
  const std::string count = info.text("connected_slaves");
  if (count.empty() || count == "0") return Finding::ok(server + ": master without replicas");
  return Finding::ok(server + ": master with " + count + " replica(s); a failover may lose the latest locks");
}

Finding version(const std::string& server, const std::string& text) {
  if (leading_number<int>(text) >= 6) return Finding::ok(server + ": version " + text);
  return Finding::warn(server + ": version " + text + " cannot notify waiters of other clients' releases",
                       "use Redis 6 or later");
}

/// " +hget +zadd": those of `commands` that are among the missing ones.
std::string grants_of(const std::vector<std::string>& commands, const std::vector<Reply>& missing) {
  std::string grants;
  for (const std::string& command : commands) {
    const auto is_it = [&](const Reply& one) { return one.text == command; };
    if (std::any_of(missing.begin(), missing.end(), is_it)) grants += " +" + command;
  }
  return grants;
}

/// Rights of the user of the URL, tried on keys that mean nothing.
Finding rights(const std::string& server, Connection& connection, const NeededRights& needed, const Runtime& runtime) {
  const TimePoint until = runtime.clock.now() + runtime.patience;
  Command missing_rights{"EVAL", deployment_scripts::kMissingRights, "0", kKey};
  missing_rights.insert(missing_rights.end(), needed.commands.begin(), needed.commands.end());
  missing_rights.insert(missing_rights.end(), needed.rare.begin(), needed.rare.end());
  const auto replies = exchange(connection,
                                {{"EVAL", "redis.call('GET',KEYS[1]) redis.call('TIME') return 1", "1", kKey},
                                 {"EVAL", "return redis.call('PUBLISH',ARGV[1],'x')", "0", needed.channel},
                                 missing_rights},
                                runtime.clock, until, until, nullptr);
  if (!replies) return Finding::fail(replies.error());
  const std::string user = connection.settings().user.empty() ? "default" : connection.settings().user;
  const std::string rare = grants_of(needed.rare, (*replies)[2].elements);
  if (const std::string grants = grants_of(needed.commands, (*replies)[2].elements); !grants.empty()) {
    return Finding::fail(server + ": the user " + user + " lacks rights that locks need",
                         "ACL SETUSER " + user + grants + rare + "; what they are for: man dlock-redis",
                         ErrorCode::kDenied);
  }
  const Reply& script = (*replies)[0];
  if (is_unknown_command(script)) {
    const Error error = *error_of(script, server);
    return Finding::fail(error);
  }
  const Refusal refusal = refusal_of(script);
  if (refusal == Refusal::kLater || refusal == Refusal::kElsewhere) {
    return Finding::fail(server + " is not ready: " + words_of(script), "its log says why; ask again later",
                         ErrorCode::kUnavailable);
  }
  // A node of a cluster looks at the rights first, and then at whose slot it is.
  if (script.is_error() && refusal != Refusal::kMoved && refusal != Refusal::kAsk) {
    return Finding::fail(error_of(script, server)->message, "grant what man dlock-redis lists", ErrorCode::kDenied);
  }
  if ((*replies)[1].is_error()) {
    const Reply& publish = (*replies)[1];
    const bool is_channel = publish.text.find("channel") != std::string::npos;  // that is refused, not the command
    return Finding::warn(server + ": may not publish, so waiters poll",
                         is_unknown_command(publish)
                             ? "restore the name of PUBLISH there (rename-command)"
                             : "ACL SETUSER " + user + " " + (is_channel ? needed.channels_rule : "+publish"));
  }
  if (!rare.empty()) {
    return Finding::warn(server + ": the user " + user + " lacks rights that only some commands need",
                         "ACL SETUSER " + user + rare + "; what they are for: man dlock-redis");
  }
  return Finding::ok(server + ": scripts and channels are allowed");
}

void examine(Connection& connection, const NeededRights& needed, const Runtime& runtime,
             std::vector<Finding>& findings) {
  const std::string server = connection.settings().endpoint.text();
  const TimePoint before = runtime.clock.now();
  const TimePoint until = before + runtime.patience;
  const auto replies = exchange(connection, {{"PING"}}, runtime.clock, until, until, nullptr);
  if (!replies) {
    findings.push_back(Finding::fail(replies.error()));
    return;
  }
  const TimePoint asked = runtime.clock.now();
  const auto more = exchange(connection, {{"TIME"}, {"INFO"}}, runtime.clock, until, until, nullptr);
  const auto wall = runtime.clock.wall();
  if (!more) {
    findings.push_back(Finding::fail(more.error()));
    return;
  }
  findings.push_back(answers_finding(server, runtime.clock.now() - asked));
  const Reply& time = (*more)[0];
  if (time.elements.size() == 2) {
    findings.push_back(clock_finding(server,
                                     leading_number<std::int64_t>(time.elements[0].text) * 1'000'000 +
                                         leading_number<std::int64_t>(time.elements[1].text),
                                     wall));
  }
  const Reply& info = (*more)[1];
  if (info.is_error()) {
    const std::string why = is_denied(info) ? "" : ": " + words_of(info);
    findings.push_back(Finding::warn(server + ": INFO is refused, so its settings are not known" + why,
                                     why.empty() ? "grant +info to this user" : ""));
  } else {
    const auto judged = judge_info(server, ServerInfo(info.text));
    findings.insert(findings.end(), judged.begin(), judged.end());
  }
  findings.push_back(rights(server, connection, needed, runtime));
}

}  // namespace

std::vector<std::string> commands_of_scripts() {
  return {"time", "get",    "set",           "del",    "mget",  "pexpire", "pttl",    "hset",
          "hget", "hmget",  "hgetall",       "hkeys",  "hlen",  "hdel",    "hexists", "zadd",
          "zrem", "zrange", "zrangebyscore", "zscore", "zcard", "zrank"};
}

std::vector<Finding> judge_info(const std::string& server, const ServerInfo& info) {
  std::vector<Finding> findings;
  if (const auto v = info.text("redis_version"); !v.empty()) findings.push_back(version(server, v));
  if (const auto p = info.text("maxmemory_policy"); !p.empty()) findings.push_back(eviction(server, p));
  if (!info.text("aof_enabled").empty()) findings.push_back(persistence(server, info));
  if (!info.text("role").empty()) findings.push_back(replicas(server, info));
  if (info.text("active_replica") == "1" || info.text("multi_master") == "1") {
    findings.push_back(Finding::fail(server + ": active replication grants one lock twice", "use a single master"));
  }
  return findings;
}

std::vector<Finding> diagnose_servers(Deployment& deployment, const std::string& store, const NeededRights& needed,
                                      const Runtime& runtime) {
  std::vector<Finding> findings;
  const auto servers = deployment.all_servers(runtime.clock.now() + runtime.patience);
  if (!servers) {
    const Error& error = servers.error();
    return {Finding::fail(store + ": " + error.message, error.next, error.code)};
  }
  for (Connection* server : *servers) examine(*server, needed, runtime, findings);
  return findings;
}

}  // namespace dlock::redis
