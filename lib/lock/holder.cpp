// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/holder.h"

#include <algorithm>
#include <iterator>

#include "lib/base/human_text.h"
#include "lib/lock/lock_errors.h"

namespace dlock {

const char* mode_name(Mode mode) {
  constexpr const char* kNames[] = {"exclusive", "shared", "permits"};
  return kNames[static_cast<std::size_t>(mode)];
}

const char* mode_letter(Mode mode) {
  constexpr const char* kLetters[] = {"x", "s", "p"};
  return kLetters[static_cast<std::size_t>(mode)];
}

bool is_hold(Standing standing) { return standing == Standing::kRegular || standing == Standing::kEndless; }

bool is_delay(Standing standing) {
  return standing == Standing::kDelayAfterLease || standing == Standing::kDelayAfterForce;
}

std::string forced_by(const std::string& by) {
  return by.empty() ? "it was force-released by an operator" : "force-released by " + printable(by, 300);
}

std::string foreign_data(const LockState& state) {
  for (const Participant& one : state.holders) {
    if (one.standing == Standing::kForeignData) return one.note;
  }
  return {};
}

std::vector<Participant> unheard(const LockState& state) {
  const auto end = std::find_if(state.waiters.begin(), state.waiters.end(),
                                [](const Participant& one) { return one.standing != Standing::kUnheard; });
  return {state.waiters.begin(), end};
}

std::string revoked_by(const std::string& by) {
  const bool replaced = by.starts_with(kReplacement);
  return (replaced ? "replaced by " : "revoked by ") + printable(by.substr(replaced ? 1 : 0), 300);
}

void list_waiters(LockState& state, std::vector<Participant> waiters) {
  state.more_waiters = waiters.size() - std::min(waiters.size(), kMostListed);
  waiters.resize(waiters.size() - state.more_waiters);
  state.waiters = std::move(waiters);
}

std::chrono::seconds move_to_our_clock(LockState& state, WallTime theirs, WallTime asked, WallTime answered) {
  using std::chrono::seconds;
  if (theirs > asked - seconds(1) && theirs < answered + seconds(1)) return seconds(0);
  const auto behind = std::chrono::round<seconds>(asked + (answered - asked) / 2 - theirs);
  for (std::vector<Participant>* participants : {&state.holders, &state.waiters}) {
    for (Participant& participant : *participants) {
      if (participant.since) *participant.since += behind;
      if (participant.until) *participant.until += behind;
    }
  }
  return behind;
}

std::int64_t shown_pid(const Participant& participant) {
  return participant.command_pid > 0 ? participant.command_pid : participant.pid;
}

void keep_commands(std::vector<Participant>& holders, const std::vector<Participant>& before) {
  for (Participant& holder : holders) {
    const auto same = std::find_if(before.begin(), before.end(), [&](const Participant& one) {
      return one.owner == holder.owner && one.token == holder.token && one.pid == holder.pid;
    });
    if (same != before.end()) holder.command_pid = same->command_pid;
  }
}

namespace {

std::string process_text(const Participant& participant) {
  const std::string lease = participant.lease ? "lease, kept by " : "";
  // A waiter's command does not run yet, and one on another machine is not seen.
  const bool is_ours = participant.command_pid <= 0 && !participant.command.empty() && !participant.owner.empty();
  const std::string whose = is_ours && !participant.lease ? "dlock pid " : "pid ";
  if (const auto pid = shown_pid(participant); pid > 0) return lease + whose + std::to_string(pid);
  return participant.lease ? "lease, no process" : "";
}

const char* standing_text(Standing standing) {
  constexpr const char* kTexts[] = {"",
                                    "a lease without end (no TTL)",
                                    "no majority",
                                    "lease ended",
                                    "lease ended, lock-delay runs",
                                    kDelayAfterForce,
                                    kForeignData,
                                    ""};
  static_assert(std::size(kTexts) == static_cast<std::size_t>(last_of(Standing())) + 1);
  return kTexts[static_cast<std::size_t>(standing)];
}

}  // namespace

bool runs_nothing(const Participant& participant) { return participant.lease || !participant.ran.empty(); }

std::string participant_text(const Participant& participant) {
  if (participant.standing == Standing::kForeignData) return "nobody";
  const std::string process = participant.ran.empty() ? process_text(participant) : printable(participant.ran);
  std::string inside = printable(participant.command);
  if (!process.empty()) inside += (inside.empty() ? "" : ", ") + process;
  const std::string host = printable(participant.host);
  const std::string where =
      participant.user.empty() ? host : printable(participant.user) + (host.empty() ? "" : "@" + host);
  if (!where.empty()) return where + (inside.empty() ? "" : " (" + inside + ")");
  if (!inside.empty()) return inside;
  return participant.owner.empty() ? "somebody" : "owner " + printable(participant.owner);
}

std::string note_text(const Participant& participant) {
  std::string text = participant.note;
  const std::string revoked = participant.revoked.empty() ? "" : revoked_by(participant.revoked);
  const std::string stopped = participant.stopped ? "its command is stopped" : "";
  for (const std::string& more : {std::string(standing_text(participant.standing)), stopped, revoked}) {
    text += (text.empty() || more.empty() ? "" : ", ") + more;
  }
  return text;
}

void JsonFields::rare(const char* name, const std::string& text) {
  constexpr std::size_t kLongest = 512;
  if (!text.empty()) (*this)(name, printable(text, kLongest));
}

void put_participant(JsonWriter& json, const Participant& participant) {
  json.begin_object();
  JsonFields fields(json);
  visit_fields(participant, fields);
  fields.rare("note", note_text(participant));
  json.end_object();
}

void put_participants(JsonWriter& json, const char* name, const std::vector<Participant>& participants) {
  json.list(name, participants, [&](const Participant& one) { put_participant(json, one); });
}

std::optional<WallTime> kept_until(const Participant& participant, WallTime now) {
  if (participant.at_least <= Duration(0) || !participant.since) return std::nullopt;
  const WallTime until =
      *participant.since + std::chrono::duration_cast<std::chrono::microseconds>(participant.at_least);
  return until > now ? std::optional(until) : std::nullopt;
}

void mark_lease(Participant& participant, std::int64_t left_to) {
  participant.lease = true;
  participant.pid = left_to;
  if (left_to > 0) participant.note = "until process " + std::to_string(left_to) + " ends";
}

}  // namespace dlock
