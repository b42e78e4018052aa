// SPDX-License-Identifier: Apache-2.0
#include "lib/history/event.h"

#include <cstring>

#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

constexpr std::size_t kLongestWhy = 512;

void put_optional(JsonWriter& json, const char* name, std::optional<int> value) {
  json.key(name);
  if (value) json.number(*value);
  else json.null();
}

void put_duration(JsonWriter& json, const char* name, std::optional<Duration> value) {
  json.key(name);
  if (value) json.whole_ms(*value);
  else json.null();
}

/// What only some events have.
void put_rest(JsonWriter& json, const Event& event) {
  if (!event.slot.empty()) json.key("slot").text(event.slot);
  if (!event.outcome.empty()) json.key("outcome").text(event.outcome);
  if (!event.why.empty()) json.key("why").text(printable(event.why, kLongestWhy));
  if (event.reentered) json.key("reentered").boolean(true);
  if (event.lease) json.key("lease").boolean(true);
  if (event.until) json.key("until").text(rfc3339(*event.until));
  if (!event.holder) return;
  json.key("holder");
  put_participant(json, *event.holder);
}

std::string who(const Event& event) {
  Participant who;
  who.user = event.user;
  who.host = event.host;
  who.command = event.command;
  who.pid = event.pid;
  return participant_text(who);
}

std::string after(const char* word, std::optional<Duration> length) {
  return length ? std::string(word) + human_duration(*length) : "";
}

std::string because(const std::string& why) { return why.empty() ? "" : ": " + printable(why, kLongestWhy); }

std::string by_holder(const Event& event) { return event.holder ? ", held by " + participant_text(*event.holder) : ""; }

std::string signal_word(std::optional<int> signal) {
  const char* name = signal ? sigabbrev_np(*signal) : nullptr;
  return name ? name : "signal " + std::to_string(signal.value_or(0));
}

std::string what(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kWaiting:
      return who(event) + " waits" + by_holder(event);
    case Event::Kind::kUnreached:
      return who(event) + " waits, and cannot ask for it" + because(event.why);
    case Event::Kind::kReached:
      return who(event) + " waits, and can ask for it again";
    case Event::Kind::kGranted:
      return "granted to " + who(event) + after(" after ", event.waited);
    case Event::Kind::kUnrenewed:
      return "a renewal of " + who(event) + " was not confirmed" + because(event.why);
    case Event::Kind::kRenewed:
      return "renewed by " + who(event);
    case Event::Kind::kLost:
      return "LOST by " + who(event) + after(" after ", event.held) + because(event.why);
    case Event::Kind::kSignalled:
      return "the command of " + who(event) + " got " + signal_word(event.signal) + because(event.why);
    case Event::Kind::kReleased:
      return "released by " + who(event) + after(" after ", event.held) + because(event.why);
    case Event::Kind::kEnded:
      return "the command of " + who(event) + " has ended";
    case Event::Kind::kBusy:
      return "busy, " + who(event) + " gave up" + after(" after ", event.waited) + because(event.why) +
             by_holder(event);
    case Event::Kind::kWithdrawn:
      return who(event) + " was ended by " + signal_word(event.signal) + " while it waited";
    case Event::Kind::kUnavailable:
      return who(event) + " could not ask for it" + because(event.why);
    case Event::Kind::kRefused:
      return "refused to " + who(event) + because(event.why);
    case Event::Kind::kUnlocked:
      return who(event) + " goes on WITHOUT the lock";
    case Event::Kind::kForceReleased:
      return "force-released by " + who(event) + because(event.reason) + by_holder(event);
    case Event::Kind::kRevoked:
      return revoked_by(event.user + "@" + event.host + because(event.reason)) + by_holder(event);
  }
  return {};
}

}  // namespace

const char* event_name(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::kWaiting:
      return "waiting";
    case Event::Kind::kUnreached:
      return "unreached";
    case Event::Kind::kReached:
      return "reached";
    case Event::Kind::kGranted:
      return "granted";
    case Event::Kind::kUnrenewed:
      return "unrenewed";
    case Event::Kind::kRenewed:
      return "renewed";
    case Event::Kind::kLost:
      return "lost";
    case Event::Kind::kSignalled:
      return "signalled";
    case Event::Kind::kReleased:
      return "released";
    case Event::Kind::kEnded:
      return "ended";
    case Event::Kind::kBusy:
      return "busy";
    case Event::Kind::kWithdrawn:
      return "withdrawn";
    case Event::Kind::kUnavailable:
      return "unavailable";
    case Event::Kind::kRefused:
      return "refused";
    case Event::Kind::kUnlocked:
      return "unlocked";
    case Event::Kind::kForceReleased:
      return "force-released";
    case Event::Kind::kRevoked:
      return "revoked";
  }
  return "?";
}

std::string event_line(const Event& event) {
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.event/1").key("time").text(rfc3339(event.time));
  json.key("event").text(event_name(event.kind)).key("key").text(event.key);
  json.key("store").text_or_null(event.store).key("owner").text_or_null(event.owner).key("token");
  if (event.token > 0) json.number(static_cast<std::int64_t>(event.token));
  else json.null();
  json.key("mode").text(mode_name(event.mode));
  json.key("host").text_or_null(event.host).key("pid").number(event.pid).key("user").text_or_null(event.user);
  json.key("command").text_or_null(event.command).key("reason").text_or_null(event.reason);
  put_duration(json, "waited_ms", event.waited);
  put_duration(json, "held_ms", event.held);
  put_optional(json, "exit_code", event.exit_code);
  put_optional(json, "signal", event.signal);
  put_rest(json, event);
  return json.end_object().line();
}

std::string event_text(const Event& event) { return printable(event.key) + ": " + what(event); }

}  // namespace dlock
