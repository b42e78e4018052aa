// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/server_group.h"

#include <algorithm>
#include <map>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/quorum/questions.h"
#include "backends/redis/quorum/rules.h"
#include "backends/redis/wire/server_info.h"

namespace dlock::redis {
namespace {

Finding about_numbers(const ServerGroup::Answers& answers) {
  const auto up = static_cast<std::size_t>(std::count_if(answers.begin(), answers.end(), [](const auto& answer) {
    return answer.has_replies() && !answer.replies.empty() && answer.replies[0].is_text();
  }));
  const std::string what = std::to_string(up) + " of " + std::to_string(answers.size()) + " servers answer, " +
                           std::to_string(majority(answers.size())) + " are needed";
  if (up < majority(answers.size())) {
    return Finding::fail(what, "start the servers that do not answer", ErrorCode::kUnavailable);
  }
  if (answers.size() % 2 == 0 || answers.size() < 3) {
    return Finding::warn(what,
                         "use 3 or 5 servers: an even number survives no more failures than the odd number below it");
  }
  return Finding::ok(what);
}

/// Faults that make any server unfit for locks: keys without a lease may be evicted, it is a replica, it is loading.
std::vector<Finding> about_fitness(const std::string& server, const ServerInfo& info) {
  std::vector<Finding> found;
  const std::string policy = info.text("maxmemory_policy");
  if (info.number("maxmemory") > 0 && !policy.empty() && policy != "noeviction") {
    found.push_back(Finding::warn(server + ": maxmemory-policy " + policy + " may evict held locks",
                                  "`CONFIG SET maxmemory-policy noeviction`"));
  }
  if (info.text("role") == "slave") {
    found.push_back(Finding::fail(server + " is a replica: it takes no writes", "name its master in the URL"));
  }
  if (info.number("loading") != 0) {
    found.push_back(Finding::warn(server + " is still loading its data", "wait until it has loaded them"));
  }
  return found;
}

void about_server(const std::string& server, const ServerGroup::Answer& answer, std::vector<Finding>& findings) {
  if (!answer.has_replies() || !answer.replies[0].is_text()) {
    const Error why = answer.error             ? *answer.error
                      : answer.replies.empty() ? Error{ErrorCode::kUnavailable, "no answer in time"}
                                               : reply_error(answer.replies[0]);
    // A server that is down may come back by itself; one that refuses us does not.
    findings.push_back(why.code == ErrorCode::kUnavailable
                           ? Finding::warn(server + ": " + why.message, "start it, or see its log")
                           : Finding::fail(server + ": " + why.message,
                                           why.next.empty() ? "all servers of a RedLock have one password" : why.next,
                                           why.code));
    return;
  }
  const ServerInfo info(answer.replies[0].text);
  const std::string what = server + ": version " + info.text("redis_version") + ", run_id " + info.text("run_id") +
                           ", up " + info.text("uptime_in_seconds") + " s, appendonly " +
                           (info.text("aof_enabled") == "1" ? "yes" : "no");
  findings.push_back(
      info.text("aof_enabled") == "0"
          ? Finding::warn(what,
                          "`CONFIG SET appendonly yes`: without it the server has no vote for a ttl after each start")
          : Finding::ok(what));
  for (Finding& finding : about_fitness(server, info)) findings.push_back(std::move(finding));
  if (info.number("connected_slaves") > 0) {
    findings.push_back(Finding::warn(
        server + " has replicas", "RedLock counts on independent servers: no replica may take over for one of them"));
  }
}

/// A server that has two names in the URL would be a majority of three by itself.
void about_doubles(const ServerGroup& group, const ServerGroup::Answers& info, std::vector<Finding>& findings) {
  std::map<std::string, std::string> names;  // by the run_id, which each start of a server draws again
  for (std::size_t i = 0; i < info.size(); ++i) {
    if (!info[i].has_replies() || !info[i].replies[0].is_text()) continue;
    const std::string id = ServerInfo(info[i].replies[0].text).text("run_id");
    const auto [other, is_new] = names.emplace(id, group.name(i));
    if (is_new || id.empty()) continue;
    findings.push_back(Finding::fail(other->second + " and " + group.name(i) + " are one server, which votes twice",
                                     "name each server once"));
  }
}

Result<Reply> reply_of(const ServerGroup& group, const ServerGroup::Answer& answer) {
  if (answer.has_replies()) return answer.replies[0];
  if (answer.error) return *answer.error;
  return Error{ErrorCode::kUnavailable, group.name(0) + ": no answer in time", ""};
}

}  // namespace

std::vector<Finding> diagnose_redlock(const ServerGroup& group, const ServerGroup::Answers& info) {
  std::vector<Finding> findings;
  findings.push_back(about_numbers(info));
  for (std::size_t i = 0; i < info.size(); ++i) about_server(group.name(i), info[i], findings);
  about_doubles(group, info, findings);
  return findings;
}

std::vector<Finding> diagnose_tair(const ServerGroup& group, const std::string& store,
                                   const ServerGroup::Answer& answer) {
  const auto info = reply_of(group, answer);
  if (!info || !info->is_text()) {
    const Error error = info ? reply_error(*info) : info.error();
    return {Finding::fail(store + ": " + error.message, "start it, or see its log", error.code)};
  }
  const ServerInfo said(info->text);
  const std::string server = group.name(0);
  std::vector<Finding> findings = about_fitness(server, said);
  findings.insert(findings.begin(), Finding::ok(server + ": version " + said.text("redis_version") + ", appendonly " +
                                                (said.text("aof_enabled") == "1" ? "yes" : "no")));
  return findings;
}

Finding tair_commands(const ServerGroup& group, const ServerGroup::Answer& answer) {
  const auto reply = reply_of(group, answer);
  const bool knows = reply && !reply->text.starts_with("ERR unknown command");
  if (knows) return Finding::ok(group.name(0) + " knows EXCAS");
  return Finding::fail(group.name(0) + " is not a Tair: it does not know EXCAS", "use redis:// for it",
                       ErrorCode::kUnsupported);
}

}  // namespace dlock::redis
