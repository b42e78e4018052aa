// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/quorum/key_watch.h"
#include "backends/redis/quorum/rounds.h"
#include "lib/keeper/polled_lock.h"
#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

/// Grace of a round that need not be quick for those that are slower than the majority.
constexpr Duration kGrace = 50ms;
constexpr Duration kReleaseGrace = 5ms;
/// How long a loser asks for the reason: it is lost already.
constexpr Duration kWhyBudget = 200ms;
/// For opening what tells of changes: little beside a lease.
constexpr Duration kWatchBudget = 500ms;
/// How long a request that is on its way anyhow is watched.
constexpr Duration kReleaseWait = 20ms;

/// How long one round waits for the servers: min(ttl / 6, 500 ms), at least 50 ms; for a single server min(ttl / 3, 2
/// s).
Duration round_limit(Duration ttl, std::size_t servers) {
  if (servers == 1) return std::clamp<Duration>(ttl / 3, 50ms, 2s);
  return std::clamp<Duration>(ttl / 6, 50ms, 500ms);
}

/// A lock that is one key on each of N independent servers, and held if a majority of the keys is ours: RedLock; with
/// one server: Tair. Single-threaded.
class QuorumLock final : public PollableLock {
 public:
  QuorumLock(std::vector<ConnectionSettings> servers, QuorumKind kind, NativeNames names, const LockSpec& spec,
             std::string store_name, const Runtime& runtime)
      : group_(std::move(servers), runtime.clock, connect_timeout_of(spec.wait)),
        kind_(kind),
        names_(std::move(names)),
        spec_(spec),
        info_(who_text(spec)),
        store_name_(std::move(store_name)),
        runtime_(runtime),
        round_(group_, spec.name, store_name_),
        owner_(spec.owner.text()),
        servers_(group_.size()),
        watch_(group_, names_, owner_, runtime.clock) {}

  Attempt take(Control& control) override {
    group_.refresh();
    const TimePoint sent = runtime_.clock.now();
    // One reading for all servers: those of different microseconds draw different tokens.
    const auto wall = kind_ == QuorumKind::kString ? std::optional(runtime_.clock.wall()) : std::nullopt;
    std::vector<Command> questions;
    for (std::size_t i = 0; i < group_.size(); ++i) questions.push_back(take_command(question_to(i), wall));
    const Tally tally = round_.ask(questions, round_end(), &control, count_votes);
    note_servers();
    if (auto error = same_server_twice()) return *error;
    return tally == Tally::kWon ? won(sent, control) : not_won(tally);
  }

  Renewal renew(Control* control, TimePoint until) override {
    group_.refresh();
    const TimePoint sent = runtime_.clock.now();
    (void)round_.ask(renewals(), std::min(until, round_end()), control, count_renewals, kGrace);
    const Tally tally = check_clocks();
    note_servers();
    switch (tally) {
      case Tally::kWon:
        deadline_ = lease_deadline(sent, spec_.ttl);
        watch_.was_nothing(runtime_.clock.now());
        watch(runtime_.clock.now());
        return RenewalRenewed{deadline_, revoked()};
      case Tally::kRefused:
        tell_release();
        return RenewalLost{why_lost(control, until)};
      case Tally::kOpen:
      case Tally::kSilent:
        break;
    }
    return RenewalUnknown{round_.reasons()};
  }

  /// Undoes an acquisition whose outcome is not known, always under our own name.
  Result<void> withdraw(TimePoint until) override {
    group_.refresh();
    const TimePoint by = std::min(until, runtime_.clock.now() + kReleaseWait);
    const Tally tally = round_.ask_all(release_command(question(), FencingToken(0)), by, nullptr, count_to_the_end);
    if (tally == Tally::kSilent) return round_.silence();
    return {};
  }

  Result<void> release(TimePoint until) override {
    group_.refresh();
    const Tally tally = round_.ask_all(release_command(question(), token_), std::min(until, round_end()), nullptr,
                                       released_before_ ? count_answers : count_renewals, kReleaseGrace);
    released_before_ = true;
    return confirmed(tally);
  }

  Result<void> leave(const LeaveSpec& spec, TimePoint until) override {
    group_.refresh();
    QuorumQuestion asked = question();
    asked.ttl = spec.ttl;
    const bool tell = !spec.ran.empty();
    if (tell) asked.info = with_revocation(info_, ran_word(spec.ran));
    return confirmed(round_.ask_all(keep_command(asked, token_, tell), std::min(until, round_end()), nullptr,
                                    count_renewals, kGrace));
  }

  Result<LockState> read_state(TimePoint until, Control* control) override {
    group_.refresh();
    const Tally tally =
        round_.ask_all(read_command(question()), std::min(until, round_end()), control, count_to_the_end);
    if (tally != Tally::kWon) return round_.silence();
    return round_.state(runtime_.clock.wall(), true);
  }

  void add_interest(std::vector<pollfd>& fds) const override {
    group_.add_interest(fds);
    watch_.add_interest(fds);
  }
  std::optional<TimePoint> wake_at() const override { return watch_.wake_at(); }
  std::optional<std::string> disturbed(TimePoint now) override {
    if (auto why = group_.ended()) return why;
    const auto server = watch_.heard(now, std::min<Duration>(kWatchBudget, spec_.ttl / 12));
    return server ? std::optional("the lock has changed on " + *server) : std::nullopt;
  }

 private:
  struct Server {
    int introduced = 0;  ///< the connection (ServerGroup::connection) on which it gave its run_id; 0: none
    std::string run_id;
    bool ours = false;                  ///< its key is ours, by its last answer
    std::optional<ClockReading> clock;  ///< at its last answer
  };

  QuorumQuestion question() const { return {names_, kind_, owner_, spec_.owner.text(), info_, spec_.ttl, false}; }

  QuorumQuestion question_to(std::size_t server) const {
    QuorumQuestion asked = question();
    asked.introduce = kind_ == QuorumKind::kString && servers_[server].introduced != group_.connection(server);
    return asked;
  }

  /// A Tair cannot tell.
  void watch(TimePoint at) {
    if (kind_ == QuorumKind::kString) watch_.begin(at);
  }

  TimePoint round_end() const { return runtime_.clock.now() + round_limit(spec_.ttl, group_.size()); }

  void note_servers() {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const ServerGroup::Answer& answer = round_.answers()[i];
      const Ballot& ballot = round_.ballots()[i];
      if (!answer.has_replies() || ballot.state == Ballot::State::kFailed) continue;
      Server& server = servers_[i];
      server.ours = ballot.state == Ballot::State::kOurs;
      server.clock = ClockReading{answer.sent, answer.received, ballot.server_time};
      if (ballot.run_id.empty()) continue;
      if (!server.run_id.empty() && server.run_id != ballot.run_id) {
        runtime_.log.warn(group_.name(i) + " has been restarted, " + (server.ours ? "with" : "without") + " the lock " +
                          spec_.name.text());
      }
      server.run_id = ballot.run_id;
      // One that has no vote yet is asked each time whether it has one now.
      if (ballot.state != Ballot::State::kStartedLately) server.introduced = group_.connection(i);
    }
  }

  std::optional<Error> same_server_twice() const {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (servers_[i].run_id.empty() || servers_[i].run_id != servers_[j].run_id) continue;
        return Error{
            ErrorCode::kMisconfigured,
            group_.name(j) + " and " + group_.name(i) + " are the same server (run_id " + servers_[i].run_id + ")",
            "name each server once: one server has one vote"};
      }
    }
    return std::nullopt;
  }

  Attempt won(TimePoint sent, Control& control) {
    std::vector<std::uint64_t> counters;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (round_.votes()[i] == Vote::kGranted) counters.push_back(round_.ballots()[i].counter);
    }
    token_ = FencingToken(token_of(counters));
    if (!agree_on_token(control)) {
      const Error error = round_.silence();
      tell_release();
      return error;
    }
    deadline_ = lease_deadline(sent, spec_.ttl);
    watch(runtime_.clock.now() + kFirstWatch);
    return Taken{token_, sent};
  }

  Attempt not_won(Tally tally) {
    std::vector<Duration> remaining;
    std::size_t granted = 0;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (round_.votes()[i] == Vote::kGranted) ++granted;
      if (round_.votes()[i] == Vote::kRefused && round_.ballots()[i].remaining) {
        remaining.push_back(*round_.ballots()[i].remaining);
      }
    }
    const Error error = tally == Tally::kSilent ? round_.silence() : Error{};
    LockState state = round_.state(runtime_.clock.wall(), false);
    tell_release();
    if (tally == Tally::kSilent) return error;
    return Others{std::move(state), until_majority(group_.size(), granted, std::move(remaining))};
  }

  /// A later majority shares a server with ours: it draws a larger token if a majority knows this one. True at once if
  /// our votes drew the same number, as they do while the clocks agree.
  bool agree_on_token(Control& control) {
    std::size_t agree = 0;
    std::vector<Command> questions(group_.size());
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if (round_.votes()[i] != Vote::kGranted) continue;
      if (round_.ballots()[i].counter == token_.value()) ++agree;
      questions[i] = keep_command(question_to(i), token_);
    }
    if (agree >= majority(group_.size())) return true;
    const TimePoint until = round_end();
    return round_.ask(questions, until, &control, count_votes) == Tally::kWon;
  }

  /// A server whose clock stepped has ended leases early, or will end them late: this vote does not count, if there are
  /// others.
  Tally check_clocks() {
    Tally tally = count_renewals(round_.votes());
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const ServerGroup::Answer& answer = round_.answers()[i];
      const Ballot& ballot = round_.ballots()[i];
      if (!servers_[i].clock || !answer.has_replies() || ballot.state == Ballot::State::kFailed) continue;
      const ClockReading now{answer.sent, answer.received, ballot.server_time};
      const Duration step = clock_step(*servers_[i].clock, now);
      if (std::chrono::abs(step) <= clock_drift(spec_.ttl)) continue;
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(step).count();
      std::string why = "its clock has stepped by " + std::to_string(ms) + " ms since it was asked last";
      const bool drops = group_.size() > 1;
      runtime_.log.warn(group_.name(i) + ": " + why +
                        (drops ? "; its vote for " + spec_.name.text() + " does not count this time" : ""));
      if (drops && round_.votes()[i] == Vote::kGranted) tally = round_.drop(i, std::move(why), count_renewals);
    }
    return tally;
  }

  /// Those that have our lock make it longer; those that have not are asked for a vote, while we hold the others.
  std::vector<Command> renewals() const {
    std::vector<Command> questions;
    const bool valid = runtime_.clock.now() < deadline_;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const bool retake = !servers_[i].ours && valid && group_.size() > 1;
      questions.push_back(retake ? retake_command(question_to(i), token_) : keep_command(question_to(i), token_));
    }
    return questions;
  }

  /// Gives back the votes that this attempt has got or may get yet, without waiting for the answers.
  void tell_release() {
    std::vector<std::vector<Command>> commands(group_.size());
    for (std::size_t i = 0; i < group_.size(); ++i) {
      servers_[i].ours = false;
      if (round_.votes()[i] != Vote::kRefused) commands[i].push_back(release_command(question_to(i), FencingToken(0)));
    }
    group_.tell(commands);
  }

  /// As one of the servers says that have renewed.
  std::string revoked() const {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (round_.votes()[i] != Vote::kGranted) continue;
      if (std::string by = revocation_of(round_.ballots()[i].record); !by.empty()) return by;
    }
    return {};
  }

  /// RedLock's note of a force-release, if any server has one; else the servers' reasons.
  std::string why_lost(Control* control, TimePoint until) {
    const std::string said = (group_.size() > 1 ? "most servers say that it is not ours: " : "") + round_.reasons();
    if (kind_ != QuorumKind::kString) return said;
    const std::vector<Command> ask{{"HGET", names_.forced, owner_}};
    const auto told = [](const ServerGroup::Answer& answer) {
      return answer.has_replies() && answer.replies.front().is_text() && !answer.replies.front().text.empty();
    };
    const auto any = [&](const ServerGroup::Answers& answers) -> std::optional<Duration> {
      if (std::none_of(answers.begin(), answers.end(), told)) return std::nullopt;
      return Duration(0);
    };
    const auto answers = group_.ask(std::vector<std::vector<Command>>(group_.size(), ask),
                                    std::min(until, runtime_.clock.now() + kWhyBudget), control, any);
    const auto first = std::find_if(answers.begin(), answers.end(), told);
    return first == answers.end() ? said : forced_by(first->replies.front().text);
  }

  Result<void> confirmed(Tally tally) const {
    if (tally == Tally::kWon) return {};
    if (tally == Tally::kSilent) return round_.silence();
    return Error{ErrorCode::kLost, spec_.name.text() + " was no longer ours: " + round_.reasons(), ""};
  }

  ServerGroup group_;
  const QuorumKind kind_;
  const NativeNames names_;
  const LockSpec spec_;
  const std::string info_;
  const std::string store_name_;
  const Runtime runtime_;
  QuorumRounds round_;
  std::string owner_;
  bool released_before_ = false;  ///< a release has gone out before
  FencingToken token_;
  TimePoint deadline_{};
  std::vector<Server> servers_;
  KeyWatch watch_;
};

}  // namespace

Result<std::unique_ptr<LockDriver>> keep_quorum_lock(const BackendUrl& url, const LockSpec& spec,
                                                     const Runtime& runtime) {
  const QuorumKind kind = quorum_kind(url);
  if (auto fits = check_exclusive_only(spec, kind == QuorumKind::kString ? "RedLock" : "Tair"); !fits)
    return fits.error();
  TRY_ASSIGN(auto names, native_names(spec.name));
  TRY_ASSIGN(auto servers, group_settings(url, Greet::kAlong));
  auto store = std::make_unique<QuorumLock>(std::move(servers), kind, std::move(names), spec, url.redacted(), runtime);
  return std::unique_ptr<LockDriver>(std::make_unique<PolledLock>(std::move(store), spec, url.redacted(), runtime));
}

}  // namespace dlock::redis
