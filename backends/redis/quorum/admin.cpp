// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/families.h"
#include "backends/redis/deployment/record.h"
#include "backends/redis/deployment/scripts.h"
#include "backends/redis/quorum/rounds.h"
#include "backends/redis/quorum/scripts.h"
#include "backends/redis/quorum/server_group.h"
#include "lib/base/human_text.h"
#include "lib/keeper/insist.h"
#include "lib/lock/admin_common.h"
#include "lib/lock/lock_errors.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kGroupConnectTimeout = 5s;
constexpr Duration kRound = 2s;
constexpr Duration kPingTtl = 5s;
constexpr Duration kLeastForAnswer = 400ms;  ///< with less left they would only be said not to have answered

Tally count_all(std::span<const Vote> votes) {
  const bool open = std::find(votes.begin(), votes.end(), Vote::kOpen) != votes.end();
  return open ? Tally::kOpen : count_renewals(votes);
}

/// RedLock and Tair for commands that supervise nothing. Each call is bounded by 2 s, and within them asks again when
/// answers were lost. Single-threaded.
class QuorumAdmin final : public AdminCommon {
 public:
  QuorumAdmin(std::string store, QuorumKind kind, std::vector<ConnectionSettings> servers, const Runtime& runtime)
      : AdminCommon(runtime.clock),
        store_(std::move(store)),
        kind_(kind),
        runtime_(runtime),
        group_(std::move(servers), runtime.clock, kGroupConnectTimeout) {
    group_.wait_once_for_the_silent();
  }

  const std::string& store() const override { return store_; }

  Result<LockState> inspect(const LockName& name) override {
    TRY_ASSIGN(const auto asked, question(name, "", {}));
    QuorumRounds round(group_, name, store_);
    TRY(ask_until_known(round, read_command(asked)).answer);
    return round.state(runtime_.clock.wall(), false);
  }

  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override {
    if (const std::string data = data_to_drop(shown); !data.empty()) return drop_data(name, shown, data);
    ForceReleased done;
    for (const Participant& holder : shown.holders) {
      TRY_ASSIGN(const bool freed, take_from(name, holder, by));
      if (freed) done.freed.push_back(holder);
    }
    if (done.freed.empty() && !shown.holders.empty()) {
      Error error = other_holders(name);
      error.next = "look at it again";
      return error;
    }
    return done;
  }

  /// A majority gets the revocation: each renewal that counts reads at least one of those records.
  Result<void> revoke(const LockName& name, const LockState& shown, const std::string& by) override {
    Result<void> told = other_holders(name);
    for (const Participant& holder : shown.holders) {
      if (holder.token.is_none()) return cannot_be_asked(name, "another client than dlock has it");
      TRY_ASSIGN(auto asked, question(name, holder.owner, {}));
      asked.info = by;
      QuorumRounds round(group_, name, store_);
      const auto tally = ask_until_known(round, revoke_command(asked)).answer;
      if (!tally) return of_request_to_holder(tally.error(), name);
      if (*tally == Tally::kWon) told = {};
    }
    return told;
  }

  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    TRY_ASSIGN(const auto asked, question(name, owner.text(), ttl));
    QuorumRounds round(group_, name, store_);
    TRY(judge(round, keep_command(asked, FencingToken(0)), name));
    std::vector<std::uint64_t> tokens;
    for (const Ballot& ballot : round.ballots()) {
      if (ballot.state != Ballot::State::kOurs) continue;
      Participant holder;
      add_record(holder, ballot.record);
      tokens.push_back(holder.token.value());
    }
    return HeldLock{name, owner, FencingToken(most_common(tokens)), store_, false};
  }

  Result<void> release(const LockName& name, const Owner& owner) override {
    TRY_ASSIGN(const auto asked, question(name, owner.text(), {}));
    QuorumRounds round(group_, name, store_);
    auto released = judge(round, release_command(asked, FencingToken(0), marks()), name, true);
    // Without a vote left, its process has nothing that it could add others to.
    const bool everywhere = std::find(round.votes().begin(), round.votes().end(), Vote::kNone) == round.votes().end();
    if (everywhere) unmark(asked);
    return released;
  }

  /// Without rows (Tair has them) the mark is raised on every server that answers. A token passes with a majority and
  /// no server that has seen a higher one: of two majorities one server is in both, so none that is lower passes after
  /// it.
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override {
    if (memory_) return AdminCommon::fence(resource, token, wait);
    TRY_ASSIGN(const auto names, native_names(resource));
    const auto answers =
        ask_each({"EVAL", quorum_scripts::kFence, "2", names.key, names.fenced, names.wake, token.text()});
    std::size_t passed = 0;
    std::size_t denied = 0;
    std::string reasons;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const Reply* reply = answers[i].has_replies() ? &answers[i].replies.front() : nullptr;
      if (answers[i].error && answers[i].error->code == ErrorCode::kDenied) ++denied;
      const bool understood = reply && !reply->elements.empty() && reply->elements[0].is_text();
      if (understood && reply->elements[0].text == "lower" && reply->elements.size() == 2) {
        return token_too_old(resource, token, printable(reply->elements[1].text, kForeignWords), group_.name(i));
      }
      if (understood && reply->elements[0].text == "passed") ++passed;
      else if (reply) reasons += (reasons.empty() ? "" : "; ") + group_.name(i) + ": " + reply_error(*reply).message;
    }
    if (passed >= majority(group_.size())) return UniqueFd();
    const std::string silent = group_.reasons(answers);
    if (!silent.empty()) reasons += (reasons.empty() ? "" : "; ") + silent;
    const bool refused_us = group_.size() - denied < majority(group_.size());
    return Error{refused_us ? ErrorCode::kDenied : ErrorCode::kUnavailable,
                 "fewer than " + std::to_string(majority(group_.size())) + " servers of " + store_ +
                     " have accepted the token: " + reasons,
                 "ask again, and see: dlock doctor"};
  }

  Result<std::vector<Swept>> collect_garbage(bool dry_run) override {
    TRY_ASSIGN(const auto known, known_locks());
    const std::vector<LockName>& names = known.names;
    std::vector<Swept> swept;
    for (std::size_t begin = 0; begin < names.size(); begin += kKeysAtOnce) {
      const auto some = std::span(names).subspan(begin, std::min(kKeysAtOnce, names.size() - begin));
      std::vector<Command> commands;
      for (const LockName& name : some) {
        TRY_ASSIGN(const auto of, native_names(name));
        commands.push_back({"EVAL", deployment_scripts::kSweep, "2", of.key, of.fence, dry_run ? "0" : "1"});
      }
      const auto answers = ask_each(commands);
      for (std::size_t i = 0; i < some.size(); ++i) {
        const bool is_swept = std::any_of(answers.begin(), answers.end(), [i](const auto& answer) {
          return answer.has_replies() && answer.replies[i].integer == 1;
        });
        if (is_swept) swept.push_back({some[i], "the token counter of a lock that was not taken for a day"});
      }
    }
    return swept;
  }

  std::vector<Finding> diagnose() override {
    const auto info = ask_each({"INFO"});
    if (kind_ == QuorumKind::kString) return diagnose_redlock(group_, info);
    std::vector<Finding> findings = diagnose_tair(group_, store_, info[0]);
    if (!info[0].has_replies() || !info[0].replies[0].is_text()) return findings;
    findings.push_back(tair_commands(group_, ask_each({"EXCAS"})[0]));
    return findings;
  }

 private:
  Result<KnownLocks> known_locks() override {
    KnownLocks known{scan_names()};
    if (known.names.empty()) {  // or no server answered
      TRY(inspect(*LockName::parse("dlock-inspect")));
    }
    return known;
  }

  /// In one round; a lock of which no majority says anything is asked for alone.
  std::vector<Result<LockState>> inspect_some(std::span<const LockName> names) override {
    std::vector<Command> questions;
    for (const LockName& name : names) {
      const auto asked = question(name, "", {});
      if (!asked) return AdminCommon::inspect_some(names);
      questions.push_back(read_command(*asked));
    }
    ServerGroup::Answers answers = ask_each(questions);
    std::vector<Result<LockState>> states;
    for (std::size_t i = 0; i < names.size(); ++i) {
      QuorumRounds round(group_, names[i], store_);
      const bool silent = round.take(answers, i, count_all) == Tally::kSilent;
      states.push_back(silent ? inspect(names[i]) : round.state(runtime_.clock.wall(), false));
      if (!states.back() && !is_of_one_lock(states.back().error())) break;
    }
    return states;
  }

  Result<Release> take_for_ping(const LockName& name) override {
    const Owner owner = Owner::random();
    TRY_ASSIGN(auto asked, question(name, owner.text(), kPingTtl));
    asked.entry = asked.owner;
    QuorumRounds round(group_, name, store_);
    if (round.ask_all(take_command(asked, std::nullopt), by(), nullptr, count_votes) == Tally::kWon) {
      return Release([this, name, owner] { return release(name, owner); });
    }
    tell_all({release_command(asked, FencingToken(0)), {"DEL", asked.names.fence}});
    return round.silence();
  }

  void forget_ping(const LockName& name) override {
    const auto names = native_names(name);
    if (!names) return;
    tell_all({{"DEL", names->fence, names->forced}});
  }

  TimePoint by() const { return runtime_.clock.now() + std::min(kRound, runtime_.patience); }

  /// Whether who frees a lock leaves a mark for its holder. Of Tair one server decides.
  bool marks() const { return kind_ == QuorumKind::kString; }

  void unmark(const QuorumQuestion& asked) {
    if (marks()) tell_all({{"HDEL", asked.names.forced, asked.owner}});
  }

  void tell_all(const std::vector<Command>& commands) {
    group_.tell(std::vector<std::vector<Command>>(group_.size(), commands));
  }

  /// Sends the same command to each server, and waits until all have answered or the call's time is over.
  ServerGroup::Answers ask_each(const Command& command) { return ask_each(std::vector<Command>{command}); }

  ServerGroup::Answers ask_each(const std::vector<Command>& commands) {
    return group_.ask(std::vector<std::vector<Command>>(group_.size(), commands), by(), nullptr,
                      [](const ServerGroup::Answers&) { return std::nullopt; });
  }

  Result<QuorumQuestion> question(const LockName& name, const std::string& owner, Duration ttl) const {
    TRY_ASSIGN(auto names, native_names(name));
    return QuorumQuestion{std::move(names), kind_, owner, "", "", ttl, false};
  }

  Insisted<Result<Tally>> ask_until_known(QuorumRounds& round, const Command& command) {
    const TimePoint until = by();
    return insist(runtime_.clock, until - kLeastForAnswer, kAskAgainPause, [&]() -> Result<Tally> {
      const Tally tally = round.ask_all(command, until, nullptr, count_all);
      if (tally == Tally::kSilent) return round.silence();
      return tally;
    });
  }

  /// With `goes`, not there any more after an answer that was lost is what was wanted.
  Result<void> judge(QuorumRounds& round, const Command& command, const LockName& name, bool goes = false) {
    const auto [tally, unanswered] = ask_until_known(round, command);
    if (!tally) return tally.error();
    if (*tally == Tally::kWon || (*tally == Tally::kRefused && goes && unanswered)) return {};
    Error lost = not_held(name);
    lost.message += ": " + round.reasons();
    return lost;
  }

  Result<ForceReleased> drop_data(const LockName& name, const LockState& shown, const std::string& data) {
    TRY_ASSIGN(const auto names, native_names(name));
    const auto answers = ask_each({drop_command(names.key, data)});
    const bool freed = std::any_of(answers.begin(), answers.end(), [](const ServerGroup::Answer& answer) {
      return answer.has_replies() && !answer.replies.front().elements.empty() &&
             answer.replies.front().elements.front().text == "freed";
    });
    if (!freed) return other_holders(name);
    return ForceReleased{shown.holders};
  }

  /// The mark names who frees it, for an hour; a server that refuses it leaves the loser without the reason.
  Result<bool> take_from(const LockName& name, const Participant& holder, const std::string& by) {
    if (holder.owner.empty()) {
      return Error{ErrorCode::kUnsupported, name.text() + " is another program's key, of another type",
                   "look at it with `redis-cli TYPE`, and end that program's lock by its own means"};
    }
    TRY_ASSIGN(auto asked, question(name, holder.owner, {}));
    asked.info = by;
    QuorumRounds round(group_, name, store_);
    const auto [tally, unanswered] = ask_until_known(round, release_command(asked, FencingToken(0), marks()));
    const bool freed = unanswered || std::any_of(round.votes().begin(), round.votes().end(),
                                                 [](Vote vote) { return vote == Vote::kGranted; });
    if (!freed || !tally) unmark(asked);
    if (!tally) return tally.error();
    return freed;
  }

  /// As far as the servers that answer know them, and say so within kScanBudget. Locks that have ever been taken leave
  /// their counters behind.
  std::vector<LockName> scan_names() {
    const TimePoint until = runtime_.clock.now() + kScanBudget;
    const KeysOf keys = companions("fence");
    std::set<LockName> names;
    std::vector<std::string> cursors(group_.size(), "0");
    std::vector<bool> over(group_.size(), false);
    while (std::find(over.begin(), over.end(), false) != over.end()) {
      std::vector<std::vector<Command>> pages(group_.size());
      for (std::size_t i = 0; i < group_.size(); ++i) {
        if (!over[i]) pages[i].push_back(page_command(cursors[i], keys));
      }
      const auto answers = group_.ask(pages, by(), nullptr, [](const ServerGroup::Answers&) { return std::nullopt; });
      for (std::size_t i = 0; i < group_.size(); ++i) {
        if (over[i]) continue;
        const auto next =
            answers[i].has_replies() ? add_page(answers[i].replies[0], keys, names) : std::optional<std::string>();
        cursors[i] = next.value_or("0");
        over[i] = cursors[i] == "0" || runtime_.clock.now() >= until;
      }
    }
    return {names.begin(), names.end()};
  }

  const std::string store_;
  const QuorumKind kind_;
  const Runtime runtime_;
  ServerGroup group_;
};

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_quorum_admin(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto servers, group_settings(url));
  return std::unique_ptr<LockAdmin>(
      std::make_unique<QuorumAdmin>(url.redacted(), quorum_kind(url), std::move(servers), runtime));
}

}  // namespace dlock::redis
