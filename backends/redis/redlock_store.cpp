// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redlock_store.h"

#include <algorithm>
#include <functional>
#include <map>

#include "lib/config/duration_text.h"
#include "lib/lock/lease.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

/// What a round that need not be quick gives those that are slower than the majority.
constexpr Duration kGrace = 50ms;
constexpr Duration kReleaseGrace = 5ms;
/// How long a request that is on its way anyhow is watched.
constexpr Duration kGiveBackWait = 20ms;

Vote vote_of(const ServerGroup::Answer& answer, const Ballot& ballot) {
  if (answer.is_open()) return Vote::kOpen;
  if (!answer.has_replies()) return Vote::kNone;
  switch (ballot.state) {
    case Ballot::State::kOurs:
      return Vote::kGranted;
    case Ballot::State::kFree:
    case Ballot::State::kOthers:
    case Ballot::State::kOtherKind:
      return Vote::kRefused;
    case Ballot::State::kStartedLately:
    case Ballot::State::kFailed:
      return Vote::kNone;
  }
  return Vote::kNone;
}

/// Once a round is over, no answer will come any more.
Outcome final_count(std::vector<Vote>& votes, RedlockPoll::Count count) {
  std::replace(votes.begin(), votes.end(), Vote::kOpen, Vote::kNone);
  return count(votes);
}

/// Any answer will do, from a majority.
Outcome count_answers(std::span<const Vote> votes) {
  std::vector<Vote> same(votes.begin(), votes.end());
  std::replace(same.begin(), same.end(), Vote::kRefused, Vote::kGranted);
  return count_votes(same);
}

/// All that answer are waited for.
Outcome count_to_the_end(std::span<const Vote> votes) {
  const bool open = std::find(votes.begin(), votes.end(), Vote::kOpen) != votes.end();
  return open ? Outcome::kOpen : count_answers(votes);
}

struct Hold {
  std::vector<std::size_t> servers;
  std::vector<std::uint64_t> counters;
  std::vector<Duration> remaining;  ///< of those that end
};

/// When fewer than a majority (or than all, if they are fewer) of the servers keep it.
std::optional<Duration> hold_ends(Hold hold, std::size_t needed) {
  if (hold.remaining.size() < hold.servers.size() || hold.remaining.empty()) return std::nullopt;
  std::sort(hold.remaining.begin(), hold.remaining.end(), std::greater<>());
  return hold.remaining[std::min(needed, hold.remaining.size()) - 1];
}

}  // namespace

Duration round_limit(Duration ttl) { return std::clamp<Duration>(ttl / 6, 50ms, 500ms); }

RedlockPoll::RedlockPoll(ServerGroup& group, LockName name, std::string store_name)
    : group_(group), name_(std::move(name)), store_name_(std::move(store_name)) {}

void RedlockPoll::read() {
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    if (answers_[i].has_replies()) ballots_[i] = parse_ballot(answers_[i].replies.front());
    votes_[i] = vote_of(answers_[i], ballots_[i]);
  }
}

Outcome RedlockPoll::ask(const std::vector<Command>& questions, TimePoint until, Control* control, Count count,
                         Duration grace) {
  std::vector<std::vector<Command>> commands(questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (!questions[i].empty()) commands[i].push_back(questions[i]);
  }
  ballots_.assign(group_.size(), {});
  votes_.assign(group_.size(), Vote::kNone);
  dropped_.assign(group_.size(), "");
  const auto decided = [&](const ServerGroup::Answers& answers) {
    answers_ = answers;
    read();
    return count(votes_) != Outcome::kOpen;
  };
  answers_ = group_.ask(commands, until, control, decided, grace);
  read();
  return final_count(votes_, count);
}

Outcome RedlockPoll::ask_all(const Command& question, TimePoint until, Control* control, Count count, Duration grace) {
  return ask(std::vector<Command>(group_.size(), question), until, control, count, grace);
}

Outcome RedlockPoll::drop(std::size_t server, std::string why, Count count) {
  votes_[server] = Vote::kNone;
  dropped_[server] = std::move(why);
  return count(votes_);
}

LockState RedlockPoll::state(WallTime now, bool only_majorities) const {
  LockState state{name_, store_name_, Mode::kExclusive, 0, {}, {}};
  std::map<std::string, Hold> holds;
  for (std::size_t i = 0; i < ballots_.size(); ++i) {
    const Ballot& ballot = ballots_[i];
    const bool foreign = ballot.state == Ballot::State::kOtherKind;
    if (!foreign && ballot.state != Ballot::State::kOthers) continue;
    Hold& hold = holds[foreign ? "" : ballot.holder];
    hold.servers.push_back(i);
    hold.counters.push_back(ballot.counter);
    if (ballot.remaining) hold.remaining.push_back(*ballot.remaining);
  }
  const std::size_t needed = majority(ballots_.size());
  const auto silent = static_cast<std::size_t>(std::count(votes_.begin(), votes_.end(), Vote::kNone));
  for (const auto& [holder, hold] : holds) {
    if (only_majorities && hold.servers.size() + silent < needed) continue;
    Party party;
    party.owner = holder;
    if (!holder.empty()) party.token = FencingToken(agreed_token(hold.counters));
    if (const auto ends = hold_ends(hold, needed)) {
      party.until = now + std::chrono::duration_cast<std::chrono::microseconds>(*ends);
    }
    party.note = "on " + std::to_string(hold.servers.size()) + " of " + std::to_string(ballots_.size()) + " servers:";
    for (const std::size_t server : hold.servers) party.note += " " + group_.name(server);
    if (hold.servers.size() < needed) party.note += ", no majority";
    if (holder.empty()) party.note += ", not a string: another program's lock";
    state.holders.push_back(std::move(party));
  }
  return state;
}

std::string RedlockPoll::reason(std::size_t server) const {
  const ServerGroup::Answer& answer = answers_[server];
  const Ballot& ballot = ballots_[server];
  if (!dropped_[server].empty()) return dropped_[server];
  if (answer.asked && !answer.done) return "no answer in time";
  if (answer.error) return answer.error->message;
  switch (ballot.state) {
    case Ballot::State::kOurs:
      return "";
    case Ballot::State::kFree:
      return "it does not know the lock";
    case Ballot::State::kOthers:
      return "held by " + ballot.holder.substr(0, 64);
    case Ballot::State::kOtherKind:
      return "the key is not a string";
    case Ballot::State::kStartedLately:
      return "it started " + std::to_string(ballot.uptime) +
             " s ago without its data (appendonly no) and has no vote before a ttl has passed";
    case Ballot::State::kFailed:
      return ballot.error.message;
  }
  return "";
}

std::string RedlockPoll::reasons() const {
  std::string text;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const std::string why = votes_[i] == Vote::kGranted ? "" : reason(i);
    if (why.empty()) continue;
    if (!text.empty()) text += "; ";
    text += why.find(group_.name(i)) == std::string::npos ? group_.name(i) + ": " + why : why;
  }
  return text;
}

Error RedlockPoll::silence() const {
  std::size_t denied = 0;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const bool refused_us = answers_[i].error && answers_[i].error->code == ErrorCode::kDenied;
    const bool no_right = ballots_[i].state == Ballot::State::kFailed && answers_[i].has_replies() &&
                          ballots_[i].error.code == ErrorCode::kDenied;
    if (refused_us || no_right) ++denied;
  }
  const std::size_t needed = majority(votes_.size());
  const ErrorCode code = votes_.size() - denied < needed ? ErrorCode::kDenied : ErrorCode::kUnavailable;
  return {code,
          "fewer than " + std::to_string(needed) + " of the " + std::to_string(votes_.size()) + " servers of " +
              store_name_ + " have a vote: " + reasons(),
          "see `dlock doctor`; a majority of the servers must answer"};
}

RedlockStore::RedlockStore(std::vector<ConnectionSettings> servers, const LockSpec& spec, std::string store_name,
                           const Runtime& runtime)
    : group_(std::move(servers), runtime.clock, spec.wait.connect_timeout),
      spec_(spec),
      store_name_(std::move(store_name)),
      runtime_(runtime),
      poll_(group_, spec.name, store_name_),
      owner_(spec.owner.text()),
      servers_(group_.size()) {}

RedlockQuestion RedlockStore::question(std::size_t server) const {
  return {spec_.name, owner_, spec_.ttl, servers_[server].introduced != group_.connection(server)};
}

/// Remembers what the last round told about each server.
void RedlockStore::note_servers() {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const ServerGroup::Answer& answer = poll_.answers()[i];
    const Ballot& ballot = poll_.ballots()[i];
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
    server.introduced = group_.connection(i);
  }
}

std::optional<Error> RedlockStore::same_server_twice() const {
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

PolledStore::Attempt RedlockStore::take(Control& control) {
  group_.refresh();
  const TimePoint sent = runtime_.clock.now();
  std::vector<Command> questions;
  for (std::size_t i = 0; i < group_.size(); ++i) {
    questions.push_back(take_command(question(i), runtime_.clock.wall()));
  }
  const Outcome outcome = poll_.ask(questions, sent + round_limit(spec_.ttl), &control, count_votes);
  note_servers();
  if (auto error = same_server_twice()) return *error;
  return outcome == Outcome::kWon ? won(sent, control) : not_won(outcome);
}

PolledStore::Attempt RedlockStore::won(TimePoint sent, Control& control) {
  std::vector<std::uint64_t> counters;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (poll_.votes()[i] == Vote::kGranted) counters.push_back(poll_.ballots()[i].counter);
  }
  token_ = FencingToken(token_of(counters));
  if (!agree_on_token(control)) {
    const Error error = poll_.silence();
    tell_back();
    return error;
  }
  deadline_ = lease_deadline(sent, spec_.ttl);
  return Taken{token_, sent};
}

/// A later majority shares a server with ours: it draws a larger token if a majority knows this one. True at once if
/// our votes drew the same number, as they do while the clocks agree.
bool RedlockStore::agree_on_token(Control& control) {
  std::size_t agree = 0;
  std::vector<Command> questions(group_.size());
  for (std::size_t i = 0; i < group_.size(); ++i) {
    if (poll_.votes()[i] != Vote::kGranted) continue;
    if (poll_.ballots()[i].counter == token_.value()) ++agree;
    questions[i] = keep_command(question(i), token_, true);
  }
  if (agree >= majority(group_.size())) return true;
  const TimePoint until = runtime_.clock.now() + round_limit(spec_.ttl);
  return poll_.ask(questions, until, &control, count_votes) == Outcome::kWon;
}

PolledStore::Attempt RedlockStore::not_won(Outcome outcome) {
  std::vector<Duration> remaining;
  std::size_t granted = 0;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (poll_.votes()[i] == Vote::kGranted) ++granted;
    if (poll_.votes()[i] == Vote::kRefused && poll_.ballots()[i].remaining) {
      remaining.push_back(*poll_.ballots()[i].remaining);
    }
  }
  const Error error = outcome == Outcome::kSilent ? poll_.silence() : Error{};
  LockState state = poll_.state(runtime_.clock.wall(), false);
  tell_back();
  if (outcome == Outcome::kSilent) return error;
  return Others{std::move(state), until_majority(group_.size(), granted, std::move(remaining))};
}

/// Gives back what this attempt has taken or may take yet; nobody waits for the answers.
void RedlockStore::tell_back() {
  std::vector<std::vector<Command>> commands(group_.size());
  for (std::size_t i = 0; i < group_.size(); ++i) {
    servers_[i].ours = false;
    if (poll_.votes()[i] != Vote::kRefused) commands[i].push_back(give_command(question(i), FencingToken(0)));
  }
  group_.tell(commands);
}

std::optional<PolledStore::Taken> RedlockStore::join(const HeldClaim& claim, Control& control) {
  owner_ = claim.owner.text();
  joined_ = true;
  group_.refresh();
  const TimePoint sent = runtime_.clock.now();
  std::vector<Command> questions;
  for (std::size_t i = 0; i < group_.size(); ++i) questions.push_back(keep_command(question(i), claim.token, true));
  const Outcome outcome = poll_.ask(questions, sent + round_limit(spec_.ttl), &control, count_renewals);
  note_servers();
  if (outcome == Outcome::kWon) {
    token_ = claim.token;
    deadline_ = lease_deadline(sent, spec_.ttl);
    return Taken{token_, sent};
  }
  owner_ = spec_.owner.text();
  joined_ = false;
  for (Server& server : servers_) server.ours = false;
  return std::nullopt;
}

/// Those that have our lock make it longer; those that have not are asked for a vote, while we hold the others.
std::vector<Command> RedlockStore::renewals() const {
  std::vector<Command> questions;
  const bool valid = runtime_.clock.now() < deadline_;
  for (std::size_t i = 0; i < group_.size(); ++i) {
    const bool retake = !servers_[i].ours && valid && !joined_;
    questions.push_back(retake ? retake_command(question(i), token_) : keep_command(question(i), token_, joined_));
  }
  return questions;
}

/// A server whose clock stepped has ended leases early, or will end them late: this vote does not count.
Outcome RedlockStore::check_clocks() {
  Outcome outcome = count_renewals(poll_.votes());
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (poll_.votes()[i] != Vote::kGranted || !servers_[i].clock) continue;
    const ServerGroup::Answer& answer = poll_.answers()[i];
    const ClockReading now{answer.sent, answer.received, poll_.ballots()[i].server_time};
    const Duration step = clock_step(*servers_[i].clock, now);
    if (std::chrono::abs(step) <= clock_drift(spec_.ttl)) continue;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(step).count();
    std::string why = "its clock has stepped by " + std::to_string(ms) + " ms since it was asked last";
    runtime_.log.warn(group_.name(i) + ": " + why + "; its vote for " + spec_.name.text() +
                      " does not count this time");
    outcome = poll_.drop(i, std::move(why), count_renewals);
  }
  return outcome;
}

Renewal RedlockStore::renew(Control* control, TimePoint until) {
  group_.refresh();
  const TimePoint sent = runtime_.clock.now();
  (void)poll_.ask(renewals(), std::min(until, sent + round_limit(spec_.ttl)), control, count_renewals, kGrace);
  const Outcome outcome = check_clocks();
  note_servers();
  switch (outcome) {
    case Outcome::kWon:
      deadline_ = lease_deadline(sent, spec_.ttl);
      return RenewalRenewed{deadline_};
    case Outcome::kRefused:
      if (!joined_) tell_back();
      return RenewalLost{"most servers say that it is not ours: " + poll_.reasons()};
    case Outcome::kOpen:
    case Outcome::kSilent:
      break;
  }
  return RenewalUnknown{poll_.reasons()};
}

Result<void> RedlockStore::give_back(TimePoint until) {
  group_.refresh();
  const TimePoint by = std::min(until, runtime_.clock.now() + kGiveBackWait);
  const RedlockQuestion question{spec_.name, spec_.owner.text(), spec_.ttl, false};
  const Outcome outcome = poll_.ask_all(give_command(question, FencingToken(0)), by, nullptr, count_to_the_end);
  if (outcome == Outcome::kSilent) return poll_.silence();
  return {};
}

Result<void> RedlockStore::release(TimePoint until) {
  group_.refresh();
  const TimePoint by = std::min(until, runtime_.clock.now() + round_limit(spec_.ttl));
  const Outcome outcome = poll_.ask_all(give_command({spec_.name, owner_, spec_.ttl, false}, token_), by, nullptr,
                                        asked_back_ ? count_answers : count_renewals, kReleaseGrace);
  asked_back_ = true;
  if (outcome == Outcome::kWon) return {};
  if (outcome == Outcome::kSilent) return poll_.silence();
  return Error{ErrorCode::kLost, spec_.name.text() + " was not ours any more: " + poll_.reasons(), ""};
}

Result<void> RedlockStore::leave(Duration ttl, TimePoint until) {
  group_.refresh();
  const TimePoint by = std::min(until, runtime_.clock.now() + round_limit(spec_.ttl));
  const Outcome outcome =
      poll_.ask_all(keep_command({spec_.name, owner_, ttl, false}, token_, false), by, nullptr, count_renewals, kGrace);
  if (outcome == Outcome::kWon) return {};
  if (outcome == Outcome::kSilent) return poll_.silence();
  return Error{ErrorCode::kLost, spec_.name.text() + " was not ours any more: " + poll_.reasons(), ""};
}

Result<LockState> RedlockStore::look(TimePoint until, Control* control) {
  group_.refresh();
  const TimePoint by = std::min(until, runtime_.clock.now() + round_limit(spec_.ttl));
  const Outcome outcome =
      poll_.ask_all(look_command({spec_.name, owner_, spec_.ttl, false}), by, control, count_to_the_end);
  if (outcome != Outcome::kWon) return poll_.silence();
  return poll_.state(runtime_.clock.wall(), true);
}

}  // namespace dlock::redis
