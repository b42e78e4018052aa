// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/view.h"

#include <algorithm>
#include <map>

#include "backends/redis/deployment/families.h"
#include "backends/redis/wire/record.h"

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

}  // namespace

LockState view_of(const Viewed& lock, const std::vector<Ballot>& ballots, const std::vector<Vote>& votes, WallTime now,
                  bool only_majorities) {
  LockState state{lock.name, lock.store, Mode::kExclusive, 0, {}, {}};
  state.waiters_known = false;
  std::map<std::string, Hold> holds;
  for (std::size_t i = 0; i < ballots.size(); ++i) {
    const Ballot& ballot = ballots[i];
    const bool other_kind = ballot.state == Ballot::State::kOtherKind;
    if (!other_kind && ballot.state != Ballot::State::kOthers) continue;
    Hold& hold = holds[other_kind ? "" : ballot.holder];
    hold.servers.push_back(i);
    if (other_kind) hold.type = ballot.record;
    else if (!ballot.record.empty()) add_record(hold.records.emplace_back(), ballot.record);
    if (ballot.remaining) hold.remaining.push_back(*ballot.remaining);
  }
  const std::size_t needed = majority(ballots.size());
  const auto silent = static_cast<std::size_t>(std::count(votes.begin(), votes.end(), Vote::kNone));
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
    const std::string place = where(lock.servers, hold.servers);
    participant.note += (participant.note.empty() || place.empty() ? "" : ", ") + place;
    state.holders.push_back(std::move(participant));
  }
  return state;
}

}  // namespace dlock::redis
