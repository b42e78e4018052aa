// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"
#include "lib/lock/holder.h"

namespace dlock {

/// Something that happened to one lock, as whoever noticed it wrote it down: a line of dlock.event/1 (dlock(7)).
struct Event {
  enum class Kind {
    kWaiting,        ///< it is not to be had at once; `holder` has it
    kUnreached,      ///< after `waited` the store cannot be reached: `why`; the wait goes on
    kReached,        ///< it can be asked for again
    kGranted,        ///< after `waited`
    kUnrenewed,      ///< a renewal was not confirmed: `why`; it is asked for again
    kRenewed,        ///< a lease that `acquire` left lasts until `until`
    kLost,           ///< after `held`: `why`
    kSignalled,      ///< the command got `signal`
    kReleased,       ///< given back after `held`; `why` if that could not be confirmed; --at-least keeps it to `until`
    kEnded,          ///< of a lock that was lost, or never had: the command is gone
    kBusy,           ///< given up after `waited`; `holder` has it
    kWithdrawn,      ///< the same, because of `signal`
    kUnavailable,    ///< the store could not be asked: `why`
    kRefused,        ///< not granted for another reason: `why`
    kUnlocked,       ///< the command runs without it (--if-unavailable)
    kForceReleased,  ///< `holder` had it; whose event this is freed it, for `reason`
    kRevoked,        ///< `holder` has it, and is asked to end by whose event this is, for `reason`
  };
  Kind kind = Kind::kGranted;
  WallTime time{};
  std::string key = {};
  std::string store = {};  ///< redacted URL
  Participant who = {};    ///< who wrote it, with owner, token and slot of the hold, if there is one
  std::optional<Duration> waited = {};
  std::optional<Duration> held = {};
  std::optional<int> exit_code = {};  ///< of the command
  std::optional<int> signal = {};     ///< that it died of, or got
  std::string outcome = {};           ///< as dlock.report/1 has it; of a refusal the kind of the error
  std::string why = {};
  bool reentered = false;              ///< it joined the hold of an ancestor
  std::optional<WallTime> until = {};  ///< the end of a lease without renewals
  std::optional<Participant> holder = {};
};

/// "waiting", "granted", "force-released".
const char* event_name(Event::Kind kind);
std::optional<Event::Kind> event_kind(std::string_view name);

/// The members of dlock.event/1 after schema, time, event and key, and before holder (lib/base/fields.h).
template <MaybeConst<Event> Any, typename Visitor>
void visit_fields(Any& event, Visitor& visit) {
  visit("store", event.store);
  visit("owner", event.who.owner);
  visit("token", event.who.token);
  visit("mode", event.who.mode);
  visit("host", event.who.host);
  visit("command_pid", event.who.command_pid);
  visit("pid", event.who.pid);
  visit("user", event.who.user);
  visit("command", event.who.command);
  visit("reason", event.who.reason);
  visit("waited", event.waited);
  visit("held", event.held);
  visit("exit_code", event.exit_code);
  visit("signal", event.signal);
  visit.rare("slot", event.who.slot);
  visit.rare("outcome", event.outcome);
  visit.rare("why", event.why);
  visit.rare("reentered", event.reentered);
  visit.rare("lease", event.who.lease);
  visit.rare("until", event.until);
}

/// The line, with its newline.
std::string event_line(const Event& event);

/// The same for people, without newline: "deploy/prod: granted to deploy@ci-4 (deploy.sh, pid 8812) after 3 s".
std::string event_text(const Event& event);

/// Content of one line.
struct ReadLine {
  std::optional<Event> event;
  bool torn = false;  ///< something in front of the event, or all of the line, is a piece of one
};

/// The event in `line`, which may stand after other words (those of a syslog file) or after a piece of another event
/// that was never finished. Unknown fields are left alone; an unknown kind of event is none of ours.
ReadLine read_event(std::string_view line);

/// The text of one entry of `journalctl -o json` in which an event may stand; nullopt if it is not such an entry.
std::optional<std::string> journal_message(std::string_view line);

}  // namespace dlock
