// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/redlock.h"

#include <algorithm>

#include "backends/redis/quorum/plain_backend.h"
#include "backends/redis/wire/server_info.h"

namespace dlock::redis {
namespace {

class RedlockBackend final : public PlainBackend {
 public:
  using PlainBackend::PlainBackend;

  std::vector<Finding> diagnose() override {
    const auto answers = ask_each({"INFO"});
    std::vector<Finding> findings;
    findings.push_back(about_numbers(answers));
    for (std::size_t i = 0; i < answers.size(); ++i) about_server(i, answers[i], findings);
    return findings;
  }

 private:
  Finding about_numbers(const ServerGroup::Answers& answers) const {
    const auto up = static_cast<std::size_t>(
        std::count_if(answers.begin(), answers.end(), [](const auto& answer) { return answer.has_replies(); }));
    Finding finding;
    finding.what = std::to_string(up) + " of " + std::to_string(answers.size()) + " servers answer, " +
                   std::to_string(majority(answers.size())) + " are needed";
    if (up < majority(answers.size())) {
      finding.verdict = Finding::Verdict::kFail;
      finding.failure = ErrorCode::kUnavailable;
      finding.remedy = "start the servers that do not answer";
    } else if (answers.size() % 2 == 0 || answers.size() < 3) {
      finding.verdict = Finding::Verdict::kWarn;
      finding.remedy = "use 3 or 5 servers: an even number stands no more failures than one less";
    }
    return finding;
  }

  void about_server(std::size_t i, const ServerGroup::Answer& answer, std::vector<Finding>& findings) const {
    if (!answer.has_replies() || !answer.replies[0].is_text()) {
      const std::string why = answer.error             ? answer.error->message
                              : answer.replies.empty() ? "no answer in time"
                                                       : reply_error(answer.replies[0]).message;
      findings.push_back(
          {Finding::Verdict::kWarn, group().name(i) + ": " + why, "start it, or see its log", ErrorCode::kUnavailable});
      return;
    }
    const ServerInfo info(answer.replies[0].text);
    Finding found;
    found.what = group().name(i) + ": version " + info.text("redis_version") + ", run_id " + info.text("run_id") +
                 ", up " + info.text("uptime_in_seconds") + " s, appendonly " +
                 (info.text("aof_enabled") == "1" ? "yes" : "no");
    if (info.text("aof_enabled") == "0") {
      found.verdict = Finding::Verdict::kWarn;
      found.remedy = "`CONFIG SET appendonly yes`: else it has no vote for a ttl after each start";
    }
    findings.push_back(std::move(found));
    for (Finding& finding : info.findings(group().name(i))) findings.push_back(std::move(finding));
    if (info.number("connected_slaves") > 0) {
      findings.push_back({Finding::Verdict::kWarn, group().name(i) + " has replicas",
                          "RedLock counts on independent servers: no replica may take over for one of them",
                          ErrorCode::kMisconfigured});
    }
  }
};

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_redlock_backend(const BackendUrl& url, const Runtime& runtime) {
  auto servers = group_settings(url);
  if (!servers) return servers.error();
  return std::unique_ptr<LockAdmin>(
      std::make_unique<RedlockBackend>(url.redacted(), PlainKind::kString, std::move(*servers), runtime));
}

Result<std::unique_ptr<LockDriver>> keep_redlock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  return keep_plain(url, PlainKind::kString, "RedLock", spec, runtime);
}

}  // namespace dlock::redis
