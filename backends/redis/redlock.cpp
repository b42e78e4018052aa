// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redlock.h"

#include <algorithm>
#include <set>

#include "lib/keeper/plain_exclusive.h"
#include "lib/keeper/polled_lock.h"
#include "backends/redis/redlock_store.h"
#include "backends/redis/server_info.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;
constexpr Duration kRound = 2s;
constexpr Duration kPingTtl = 5s;
constexpr std::string_view kFencePrefix = "dlock:{";
constexpr std::string_view kFenceSuffix = "}:fence";

Outcome count_all(std::span<const Vote> votes) {
  const bool open = std::find(votes.begin(), votes.end(), Vote::kOpen) != votes.end();
  return open ? Outcome::kOpen : count_renewals(votes);
}

/// The names of locks that have ever been taken leave their counters behind.
void add_names(const Reply& page, std::set<LockName>& names) {
  for (const Reply& key : page.elements[1].elements) {
    if (!key.text.starts_with(kFencePrefix) || !key.text.ends_with(kFenceSuffix)) continue;
    const std::size_t length = key.text.size() - kFencePrefix.size() - kFenceSuffix.size();
    auto name = LockName::parse(std::string_view(key.text).substr(kFencePrefix.size(), length));
    if (name) names.insert(*name);
  }
}

bool is_page(const Reply& reply) {
  return reply.kind == Reply::Kind::kArray && reply.elements.size() == 2 && reply.elements[0].is_text();
}

class RedlockBackend final : public Backend {
 public:
  RedlockBackend(const BackendUrl& url, std::vector<ConnectionSettings> servers, const Runtime& runtime)
      : store_(url.redacted()),

        runtime_(runtime),
        group_(std::move(servers), runtime.clock, kConnectTimeout) {}

  const std::string& store() const override { return store_; }

  Result<std::unique_ptr<LockSession>> open(const LockSpec& /*spec*/) override {
    return Error{ErrorCode::kInternal, "locks of " + store_ + " are kept by a keeper program", ""};
  }

  Result<LockState> inspect(const LockName& name) override {
    RedlockPoll poll(group_, name, store_);
    if (poll.ask_all(look_command({name, "", {}, false}), by(), nullptr, count_all) == Outcome::kSilent) {
      return poll.silence();
    }
    return poll.state(runtime_.clock.wall(), false);
  }

  Result<std::vector<LockState>> inspect_all() override {
    auto names = all_names();
    if (!names) return names.error();
    std::vector<LockState> held;
    for (const LockName& name : *names) {
      auto state = inspect(name);
      if (!state) return state.error();
      if (!state->holders.empty()) held.push_back(std::move(*state));
    }
    return held;
  }

  Result<ForceReleased> force_release(const LockName& name, const LockState& shown) override {
    ForceReleased done;
    for (const Party& holder : shown.holders) {
      auto freed = take_from(name, holder);
      if (!freed) return freed.error();
      if (*freed) done.freed.push_back(holder);
    }
    auto now = inspect(name);
    if (!now) return now.error();
    const bool others = std::any_of(now->holders.begin(), now->holders.end(), [&](const Party& holder) {
      return std::none_of(shown.holders.begin(), shown.holders.end(),
                          [&](const Party& one) { return one.owner == holder.owner; });
    });
    if (done.freed.empty() && others) {
      return Error{ErrorCode::kConflict, name.text() + " is held by somebody else by now", "look at it again"};
    }
    return done;
  }

  Result<void> check(const LockName& name, FencingToken token) override {
    auto state = inspect(name);
    if (!state) return state.error();
    for (const Party& holder : state->holders) {
      if (holder.token == token && !holder.note.ends_with("no majority")) return {};
    }
    return Error{ErrorCode::kLost, "token " + token.text() + " does not belong to a holder of " + name.text(), ""};
  }

  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    RedlockPoll poll(group_, name, store_);
    const RedlockQuestion question{name, owner.text(), ttl, false};
    const auto kept = judge(poll, keep_command(question, FencingToken(0), false), name);
    if (!kept) return kept.error();
    std::vector<std::uint64_t> counters;
    for (const Ballot& ballot : poll.ballots()) {
      if (ballot.state == Ballot::State::kOurs) counters.push_back(ballot.counter);
    }
    return HeldLock{name, owner, FencingToken(agreed_token(counters)), store_, false};
  }

  Result<void> release(const LockName& name, const Owner& owner) override {
    RedlockPoll poll(group_, name, store_);
    return judge(poll, give_command({name, owner.text(), {}, false}, FencingToken(0)), name);
  }

  Result<UniqueFd> fence(const LockName& /*resource*/, FencingToken /*token*/, const WaitPolicy& /*wait*/) override {
    return Error{ErrorCode::kUnsupported, store_ + " keeps no high-water marks of resources",
                 "use `dlock fence` with a local: or redis:// store where the resource is"};
  }

  Result<std::vector<Swept>> collect_garbage(bool /*dry_run*/) override { return std::vector<Swept>{}; }

  std::vector<Finding> diagnose() override {
    const Command info{"INFO"};
    const auto answers = group_.ask(std::vector<std::vector<Command>>(group_.size(), {info}), by(), nullptr,
                                    [](const ServerGroup::Answers&) { return false; });
    std::vector<Finding> findings;
    findings.push_back(about_numbers(answers));
    for (std::size_t i = 0; i < answers.size(); ++i) about_server(i, answers[i], findings);
    return findings;
  }

  Result<Duration> ping() override {
    const Owner owner = Owner::random();
    const auto name = LockName::parse("dlock:ping:" + owner.text());
    if (!name) return name.error();
    RedlockPoll poll(group_, *name, store_);
    const RedlockQuestion question{*name, owner.text(), kPingTtl, false};
    const TimePoint start = runtime_.clock.now();
    const Outcome taken = poll.ask_all(take_command(question, runtime_.clock.wall()), by(), nullptr, count_votes);
    if (taken != Outcome::kWon) return poll.silence();
    const auto given = judge(poll, give_command(question, FencingToken(0)), *name);
    const Duration took = runtime_.clock.now() - start;
    std::vector<std::vector<Command>> sweep(group_.size(), {{"DEL", "dlock:{" + name->text() + "}:fence"}});
    group_.tell(sweep);
    if (!given) return given.error();
    return took;
  }

 private:
  TimePoint by() const { return runtime_.clock.now() + kRound; }

  Result<void> judge(RedlockPoll& poll, const Command& command, const LockName& name) {
    const Outcome outcome = poll.ask_all(command, by(), nullptr, count_all);
    if (outcome == Outcome::kWon) return {};
    if (outcome == Outcome::kSilent) return poll.silence();
    return Error{ErrorCode::kLost, name.text() + " is not held by that owner: " + poll.reasons(), ""};
  }

  /// Whether any server had it.
  Result<bool> take_from(const LockName& name, const Party& holder) {
    if (holder.owner.empty()) {
      return Error{ErrorCode::kUnsupported, name.text() + " is another program's key, not a string",
                   "look at it with `redis-cli TYPE`, and end that program's lock with its own means"};
    }
    RedlockPoll poll(group_, name, store_);
    const Command give = give_command({name, holder.owner, {}, false}, FencingToken(0));
    if (poll.ask_all(give, by(), nullptr, count_all) == Outcome::kSilent) return poll.silence();
    return std::any_of(poll.votes().begin(), poll.votes().end(), [](Vote vote) { return vote == Vote::kGranted; });
  }

  Result<std::set<LockName>> all_names() {
    std::set<LockName> names;
    std::vector<std::string> cursors(group_.size(), "0");
    std::vector<bool> over(group_.size(), false);
    while (std::find(over.begin(), over.end(), false) != over.end()) {
      std::vector<std::vector<Command>> pages(group_.size());
      for (std::size_t i = 0; i < group_.size(); ++i) {
        if (!over[i]) pages[i].push_back({"SCAN", cursors[i], "MATCH", "dlock:{*}:fence", "COUNT", "1000"});
      }
      const auto answers = group_.ask(pages, by(), nullptr, [](const ServerGroup::Answers&) { return false; });
      for (std::size_t i = 0; i < group_.size(); ++i) {
        if (over[i]) continue;
        over[i] = true;
        if (!answers[i].has_replies() || !is_page(answers[i].replies[0])) continue;
        add_names(answers[i].replies[0], names);
        cursors[i] = answers[i].replies[0].elements[0].text;
        over[i] = cursors[i] == "0";
      }
    }
    return names;
  }

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
          {Finding::Verdict::kWarn, group_.name(i) + ": " + why, "start it, or see its log", ErrorCode::kUnavailable});
      return;
    }
    const ServerInfo info(answer.replies[0].text);
    Finding found;
    found.what = group_.name(i) + ": version " + info.text("redis_version") + ", run_id " + info.text("run_id") +
                 ", up " + info.text("uptime_in_seconds") + " s, appendonly " +
                 (info.text("aof_enabled") == "1" ? "yes" : "no");
    if (info.text("aof_enabled") == "0") {
      found.verdict = Finding::Verdict::kWarn;
      found.remedy = "`CONFIG SET appendonly yes`: else it has no vote for a ttl after each start";
    }
    findings.push_back(std::move(found));
    for (Finding& finding : info.findings(group_.name(i))) findings.push_back(std::move(finding));
    if (info.number("connected_slaves") > 0) {
      findings.push_back({Finding::Verdict::kWarn, group_.name(i) + " has replicas",
                          "RedLock counts on independent servers: no replica may take over for one of them",
                          ErrorCode::kMisconfigured});
    }
  }

  const std::string store_;
  const Runtime runtime_;
  ServerGroup group_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_redlock_backend(const BackendUrl& url, const Runtime& runtime) {
  auto servers = group_settings(url);
  if (!servers) return servers.error();
  return std::unique_ptr<Backend>(std::make_unique<RedlockBackend>(url, std::move(*servers), runtime));
}

Result<std::unique_ptr<KeptLock>> keep_redlock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  if (auto fits = check_plain_exclusive(spec, "RedLock"); !fits) return fits.error();
  auto servers = group_settings(url);
  if (!servers) return servers.error();
  auto store = std::make_unique<RedlockStore>(std::move(*servers), spec, url.redacted(), runtime);
  return std::unique_ptr<KeptLock>(std::make_unique<PolledLock>(std::move(store), spec, url.redacted(), runtime));
}

}  // namespace dlock::redis
