// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/rounds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/redis/deployment/families.h"
#include "backends/redis/deployment/record.h"
#include "lib/base/human_text.h"

namespace dlock::redis {
namespace {

struct Hold {
  std::vector<std::size_t> servers;
  std::vector<Participant> records;
  std::vector<Duration> remaining;  ///< of those that end
  std::string type;                 ///< of the key, where that is no lock of ours
};

/// When fewer than a majority (or than all, if they are fewer) of the servers keep it.
std::optional<Duration> hold_ends(Hold hold, std::size_t needed) {
  if (hold.remaining.size() < hold.servers.size() || hold.remaining.empty()) return std::nullopt;
  std::sort(hold.remaining.begin(), hold.remaining.end(), std::greater<>());
  return hold.remaining[std::min(needed, hold.remaining.size()) - 1];
}

/// One holder, out of what each server says of it: what most say; `since` by the median of their clocks.
Participant merged(std::vector<Participant> records) {
  if (records.empty()) return {};
  std::vector<std::uint64_t> tokens;
  std::vector<std::uint64_t> counts;
  for (const Participant& record : records) {
    tokens.push_back(record.token.value());
    counts.push_back(static_cast<std::uint64_t>(record.count));
  }
  std::sort(records.begin(), records.end(),
            [](const Participant& a, const Participant& b) { return a.since < b.since; });
  Participant participant = records[(records.size() - 1) / 2];
  participant.token = FencingToken(most_common(tokens));
  participant.count = static_cast<int>(most_common(counts));
  return participant;
}

/// Redisson's, or one of a Tair that is used in another mode; or a user who may not ask for the type.
bool may_be_lock(std::string_view type) { return type.empty() || type == "hash" || type == "string"; }

std::string where(const ServerGroup& group, const std::vector<std::size_t>& servers) {
  if (servers.size() == group.size()) return "";
  std::string text = "on " + std::to_string(servers.size()) + " of " + std::to_string(group.size()) + " servers:";
  for (const std::size_t server : servers) text += " " + group.name(server);
  return text;
}

/// The round has failed: how much longer the others are waited for, so that none is said not to answer which does.
constexpr Duration kToTellWhoAnswers = std::chrono::milliseconds(100);

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
Tally final_count(std::vector<Vote>& votes, QuorumRounds::Count count) {
  std::replace(votes.begin(), votes.end(), Vote::kOpen, Vote::kNone);
  return count(votes);
}

}  // namespace

Tally count_answers(std::span<const Vote> votes) {
  std::vector<Vote> same(votes.begin(), votes.end());
  std::replace(same.begin(), same.end(), Vote::kRefused, Vote::kGranted);
  return count_votes(same);
}

Tally count_to_the_end(std::span<const Vote> votes) {
  const bool open = std::find(votes.begin(), votes.end(), Vote::kOpen) != votes.end();
  return open ? Tally::kOpen : count_answers(votes);
}

QuorumRounds::QuorumRounds(ServerGroup& group, LockName name, std::string store_name)
    : group_(group), name_(std::move(name)), store_name_(std::move(store_name)) {}

void QuorumRounds::begin() {
  ballots_.assign(group_.size(), {});
  votes_.assign(group_.size(), Vote::kNone);
  dropped_.assign(group_.size(), "");
}

void QuorumRounds::read() {
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    if (answers_[i].has_replies()) ballots_[i] = parse_ballot(answers_[i].replies.front());
    votes_[i] = vote_of(answers_[i], ballots_[i]);
  }
}

Tally QuorumRounds::ask(const std::vector<Command>& questions, TimePoint until, Control* control, Count count,
                        Duration grace) {
  std::vector<std::vector<Command>> commands(questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (!questions[i].empty()) commands[i].push_back(questions[i]);
  }
  begin();
  const auto decided = [&](const ServerGroup::Answers& answers) -> std::optional<Duration> {
    answers_ = answers;
    read();
    const Tally tally = count(votes_);
    if (tally == Tally::kOpen) return std::nullopt;
    return tally == Tally::kSilent ? std::max(grace, kToTellWhoAnswers) : grace;
  };
  answers_ = group_.ask(commands, until, control, decided);
  read();
  return final_count(votes_, count);
}

Tally QuorumRounds::ask_all(const Command& question, TimePoint until, Control* control, Count count, Duration grace) {
  return ask(std::vector<Command>(group_.size(), question), until, control, count, grace);
}

Tally QuorumRounds::take(ServerGroup::Answers& answers, std::size_t which, Count count) {
  begin();
  answers_.resize(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::vector<Reply> all = std::exchange(answers[i].replies, {});
    answers_[i] = answers[i];
    if (answers[i].has_replies()) answers_[i].replies = {std::move(all[which])};
    answers[i].replies = std::move(all);
  }
  read();
  return final_count(votes_, count);
}

Tally QuorumRounds::drop(std::size_t server, std::string why, Count count) {
  votes_[server] = Vote::kNone;
  dropped_[server] = std::move(why);
  return count(votes_);
}

LockState QuorumRounds::state(WallTime now, bool only_majorities) const {
  LockState state{name_, store_name_, Mode::kExclusive, 0, {}, {}};
  state.waiters_known = false;
  std::map<std::string, Hold> holds;
  for (std::size_t i = 0; i < ballots_.size(); ++i) {
    const Ballot& ballot = ballots_[i];
    const bool other_kind = ballot.state == Ballot::State::kOtherKind;
    if (!other_kind && ballot.state != Ballot::State::kOthers) continue;
    Hold& hold = holds[other_kind ? "" : ballot.holder];
    hold.servers.push_back(i);
    if (other_kind) hold.type = ballot.record;
    else if (!ballot.record.empty()) add_record(hold.records.emplace_back(), ballot.record);
    if (ballot.remaining) hold.remaining.push_back(*ballot.remaining);
  }
  const std::size_t needed = majority(ballots_.size());
  const auto silent = static_cast<std::size_t>(std::count(votes_.begin(), votes_.end(), Vote::kNone));
  for (const auto& [holder, hold] : holds) {
    if (only_majorities && hold.servers.size() + silent < needed) continue;
    Participant participant = merged(hold.records);
    participant.owner = holder;
    if (const auto ends = hold_ends(hold, needed)) {
      participant.until = now + std::chrono::duration_cast<std::chrono::microseconds>(*ends);
    }
    if (hold.remaining.empty() && hold.records.empty()) participant.standing = Standing::kEndless;
    if (holder.empty() && may_be_lock(hold.type)) participant.note = "another lock family: the key is of another type";
    else if (hold.records.empty())
      show_family(participant, holder.empty() ? hold.type : "string", holder, !hold.remaining.empty());
    if (hold.servers.size() < needed) participant.standing = Standing::kMinority;
    const std::string place = where(group_, hold.servers);
    participant.note += (participant.note.empty() || place.empty() ? "" : ", ") + place;
    state.holders.push_back(std::move(participant));
  }
  return state;
}

std::string QuorumRounds::reason(std::size_t server) const {
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
      return "held by " + printable(ballot.holder, 64);
    case Ballot::State::kOtherKind:
      return "the key is of another type";
    case Ballot::State::kStartedLately:
      return "it started " + std::to_string(ballot.uptime) +
             " s ago without its data (appendonly no) and has no vote before a ttl has passed";
    case Ballot::State::kFailed:
      return ballot.error.message;
  }
  return "";
}

std::string QuorumRounds::reasons(Reasons of) const {
  std::string text;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const bool left_out = votes_[i] == Vote::kGranted || (votes_[i] == Vote::kRefused && of == Reasons::kSilent);
    const std::string why = left_out ? "" : reason(i);
    if (why.empty()) continue;
    if (!text.empty()) text += "; ";
    text += why.find(group_.name(i)) == std::string::npos ? group_.name(i) + ": " + why : why;
  }
  return text;
}

std::string QuorumRounds::answers_text() const {
  const auto count = [&](auto is) { return static_cast<std::size_t>(std::count_if(votes_.begin(), votes_.end(), is)); };
  const auto answering = static_cast<std::size_t>(
      std::count_if(answers_.begin(), answers_.end(), [](const auto& answer) { return answer.has_replies(); }));
  const std::size_t voting = count([](Vote vote) { return vote == Vote::kGranted || vote == Vote::kRefused; });
  std::string text = std::to_string(votes_.size()) + " servers asked, " + std::to_string(answering) +
                     (answering == 1 ? " answers" : " answer");
  if (voting < answering) text += ", " + std::to_string(voting) + (voting == 1 ? " has a vote" : " have a vote");
  return text;
}

Error QuorumRounds::silence() const {
  std::size_t denied = 0;
  std::optional<ErrorCode> refusal;  ///< for good
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const bool said_so = ballots_[i].state == Ballot::State::kFailed && answers_[i].has_replies();
    if (said_so && ballots_[i].error.code == ErrorCode::kUnsupported) {
      return {ErrorCode::kUnsupported, group_.name(i) + ": " + ballots_[i].error.message, ballots_[i].error.next};
    }
    if (!said_so && !answers_[i].error) continue;
    const ErrorCode why = said_so ? ballots_[i].error.code : answers_[i].error->code;
    if (why != ErrorCode::kDenied && why != ErrorCode::kMisconfigured) continue;
    if (!refusal) refusal = why;
    ++denied;
  }
  const std::size_t needed = majority(votes_.size());
  const ErrorCode code = votes_.size() - denied < needed ? *refusal : ErrorCode::kUnavailable;
  if (votes_.size() == 1) {
    const std::string next = answers_[0].error ? answers_[0].error->next : ballots_[0].error.next;
    return {code, reasons(), next.empty() ? "look at it with: dlock doctor" : next};
  }
  const std::string why = reasons(Reasons::kSilent);
  const bool all_answer = std::all_of(answers_.begin(), answers_.end(), [](const auto& a) { return a.has_replies(); });
  return {code, store_name_ + ": " + answers_text() + ", " + std::to_string(needed) + " are needed: " + why,
          all_answer ? "see: dlock doctor" : "start the servers that do not answer, or see: dlock doctor"};
}

}  // namespace dlock::redis
