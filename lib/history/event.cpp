// SPDX-License-Identifier: Apache-2.0
#include "lib/history/event.h"

#include <algorithm>
#include <iterator>

#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/history/moment.h"

namespace dlock {
namespace {

constexpr std::size_t kLongestWhy = 512;

constexpr std::string_view kEventNames[] = {"waiting",        "unreached", "reached",     "granted",  "unrenewed",
                                            "renewed",        "lost",      "signalled",   "released", "ended",
                                            "busy",           "withdrawn", "unavailable", "refused",  "unlocked",
                                            "force-released", "revoked"};
static_assert(std::size(kEventNames) == static_cast<std::size_t>(Event::Kind::kRevoked) + 1);

std::string who(const Event& event) {
  Participant who = event.who;
  who.lease = false;
  return participant_text(who);
}

std::string after(const char* word, std::optional<Duration> length) {
  return length ? std::string(word) + human_duration(*length) : "";
}

std::string because(const std::string& why) { return why.empty() ? "" : ": " + printable(why, kLongestWhy); }

std::string by_holder(const Event& event) { return event.holder ? ", held by " + participant_text(*event.holder) : ""; }

std::string what(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kWaiting:
      return who(event) + " waits" + by_holder(event);
    case Event::Kind::kUnreached:
      return who(event) + " waits, and cannot request it" + because(event.why);
    case Event::Kind::kReached:
      return who(event) + " waits, and can request it again";
    case Event::Kind::kGranted:
      return "granted to " + who(event) + after(" after ", event.waited);
    case Event::Kind::kUnrenewed:
      return "a renewal of " + who(event) + " was not confirmed" + because(event.why);
    case Event::Kind::kRenewed:
      return "renewed by " + who(event);
    case Event::Kind::kLost:
      return "LOST by " + who(event) + after(" after ", event.held) + because(event.why);
    case Event::Kind::kSignalled:
      return "the command of " + who(event) + " got " + signal_text(event.signal.value_or(0)) + because(event.why);
    case Event::Kind::kReleased:
      return (event.until ? "kept by " : "released by ") + who(event) + after(" after ", event.held) +
             because(event.why) + (event.until ? " until " + local_time(*event.until) : "");
    case Event::Kind::kEnded:
      return "the command of " + who(event) + " has ended";
    case Event::Kind::kBusy:
      return "busy, " + who(event) + " gave up" + after(" after ", event.waited) + because(event.why) +
             by_holder(event);
    case Event::Kind::kWithdrawn:
      return who(event) + " was ended by " + signal_text(event.signal.value_or(0)) + " while it waited";
    case Event::Kind::kUnavailable:
      return who(event) + " could not request it" + because(event.why);
    case Event::Kind::kRefused:
      return "refused to " + who(event) + because(event.why);
    case Event::Kind::kUnlocked:
      return who(event) + " goes on WITHOUT the lock";
    case Event::Kind::kForceReleased:
      return "force-released by " + who(event) + because(event.who.reason) + by_holder(event);
    case Event::Kind::kRevoked:
      return revoked_by(event.who.user + "@" + event.who.host + because(event.who.reason)) + by_holder(event);
  }
  return {};
}

}  // namespace

const char* event_name(Event::Kind kind) { return kEventNames[static_cast<std::size_t>(kind)].data(); }

std::optional<Event::Kind> event_kind(std::string_view name) {
  const auto* const found = std::find(std::begin(kEventNames), std::end(kEventNames), name);
  return found == std::end(kEventNames) ? std::nullopt
                                        : std::optional(static_cast<Event::Kind>(found - std::begin(kEventNames)));
}

std::string event_line(const Event& event) {
  JsonWriter json("dlock.event/1");
  json.field("time", rfc3339(event.time));
  json.field("event", event_name(event.kind)).field("key", event.key);
  JsonFields fields(json);
  visit_fields(event, fields);
  if (event.holder) put_participant(json.key("holder"), *event.holder);
  return json.end_object().line();
}

std::string event_text(const Event& event) { return printable(event.key) + ": " + what(event); }

}  // namespace dlock
