// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/holder.h"

#include "lib/base/human_text.h"

namespace dlock {

const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::kExclusive:
      return "exclusive";
    case Mode::kShared:
      return "shared";
    case Mode::kPermits:
      return "permits";
  }
  return "?";
}

const char* mode_letter(Mode mode) {
  switch (mode) {
    case Mode::kExclusive:
      return "x";
    case Mode::kShared:
      return "s";
    case Mode::kPermits:
      return "p";
  }
  return "x";
}

std::string forced_by(const std::string& by) {
  return by.empty() ? "it was force-released by an operator" : "force-released by " + printable(by, 300);
}

std::chrono::seconds move_to_our_clock(LockState& state, WallTime theirs, WallTime asked, WallTime answered) {
  using std::chrono::seconds;
  if (theirs > asked - seconds(1) && theirs < answered + seconds(1)) return seconds(0);
  const auto behind = std::chrono::round<seconds>(asked + (answered - asked) / 2 - theirs);
  for (std::vector<Participant>* parties : {&state.holders, &state.waiters}) {
    for (Participant& party : *parties) {
      if (party.since) *party.since += behind;
      if (party.until) *party.until += behind;
    }
  }
  return behind;
}

namespace {

std::string process_text(const Participant& party) {
  if (party.pid > 0) return "pid " + std::to_string(party.pid);
  return party.lease ? "lease, no process" : "";
}

}  // namespace

std::string party_text(const Participant& party) {
  const std::string process = process_text(party);
  std::string inside = printable(party.command);
  if (!process.empty()) inside += (inside.empty() ? "" : ", ") + process;
  const std::string host = printable(party.host);
  const std::string where = party.user.empty() ? host : printable(party.user) + (host.empty() ? "" : "@" + host);
  if (!where.empty()) return where + (inside.empty() ? "" : " (" + inside + ")");
  if (!inside.empty()) return inside;
  return party.owner.empty() ? "somebody" : "owner " + printable(party.owner);
}

void put_party(JsonWriter& json, const Participant& party) {
  const auto number = [&](const char* name, std::int64_t value) {
    json.key(name);
    if (value > 0) json.number(value);
    else json.null();
  };
  const auto time = [&](const char* name, const std::optional<WallTime>& value) {
    json.key(name).text_or_null(value ? rfc3339(*value) : "");
  };
  json.begin_object();
  json.key("owner").text_or_null(party.owner).key("host").text_or_null(party.host);
  number("pid", party.pid);
  if (party.lease) json.key("lease").boolean(true);
  json.key("user").text_or_null(party.user).key("reason").text_or_null(party.reason);
  number("token", static_cast<std::int64_t>(party.token.value()));
  json.key("command").text_or_null(party.command);
  if (!party.slot.empty()) json.key("slot").text(party.slot);
  json.key("count").number(party.count);
  time("since", party.since);
  time("until", party.until);
  json.key("mode").text(mode_name(party.mode));
  if (!party.note.empty()) json.key("note").text(party.note);
  json.end_object();
}

void mark_lease(Participant& party, std::int64_t left_to) {
  party.lease = true;
  party.pid = left_to;
  if (left_to > 0) party.note = "until process " + std::to_string(left_to) + " ends";
}

}  // namespace dlock
