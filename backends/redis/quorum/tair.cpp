// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/tair.h"

#include "backends/redis/quorum/plain_backend.h"
#include "backends/redis/wire/server_info.h"

namespace dlock::redis {
namespace {

PlainKind kind_of(const BackendUrl& url) {
  const auto mode = url.params.find("mode");
  return mode != url.params.end() && mode->second == "ex" ? PlainKind::kTairEx : PlainKind::kTairCas;
}

/// One server: a majority of one.
class TairBackend final : public PlainBackend {
 public:
  TairBackend(const BackendUrl& url, std::vector<ConnectionSettings> server, const Runtime& runtime)
      : PlainBackend(url.redacted(), kind_of(url), std::move(server), runtime),
        command_(kind_of(url) == PlainKind::kTairEx ? "EXCAS" : "CAS") {}

  std::vector<Finding> diagnose() override {
    const auto info = ask({"INFO"});
    if (!info || !info->is_text()) {
      const Error error = info ? reply_error(*info) : info.error();
      return {{Finding::Verdict::kFail, store() + ": " + error.message, "start it, or see its log", error.code}};
    }
    const ServerInfo said(info->text);
    const std::string server = group().name(0);
    std::vector<Finding> findings = said.findings(server);
    findings.insert(findings.begin(), {Finding::Verdict::kOk,
                                       server + ": version " + said.text("redis_version") + ", appendonly " +
                                           (said.text("aof_enabled") == "1" ? "yes" : "no"),
                                       "", ErrorCode::kMisconfigured});
    const auto probe = ask({command_});  // without its arguments: only known or not
    const bool knows = probe && !probe->text.starts_with("ERR unknown command");
    findings.push_back({knows ? Finding::Verdict::kOk : Finding::Verdict::kFail,
                        server + (knows ? " knows " : " is no Tair: it does not know ") + command_,
                        knows ? "" : "use redis:// for it", ErrorCode::kUnsupported});
    return findings;
  }

 private:
  Result<Reply> ask(const Command& command) {
    auto answers = ask_each(command);
    if (answers[0].has_replies()) return std::move(answers[0].replies[0]);
    if (answers[0].error) return *answers[0].error;
    return Error{ErrorCode::kUnavailable, group().name(0) + ": no answer in time", ""};
  }

  const std::string command_;
};

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_tair_backend(const BackendUrl& url, const Runtime& runtime) {
  auto server = group_settings(url);
  if (!server) return server.error();
  return std::unique_ptr<LockAdmin>(std::make_unique<TairBackend>(url, std::move(*server), runtime));
}

Result<std::unique_ptr<LockDriver>> keep_tair(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  return keep_plain(url, kind_of(url), "Tair", spec, runtime);
}

}  // namespace dlock::redis
