// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/base/log.h"
#include "lib/base/result.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/message.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

// Messages of supervisor and keeper to each other, one a packet (SOCK_SEQPACKET). Points in time are
// nanoseconds of CLOCK_BOOTTIME, which both ends share; durations are nanoseconds.
//
//   supervisor: acquire ...  who  withdraw deadline=  release deadline=
//               farewell (with the eventfd of the guard that "started" names), started (with a pidfd of the command's
//               guard;
//                 without one there is nothing that could be ended)
//               over    (after "lost": nothing is left to be ended; without it the end of the supervisor is a death)
//               ended status= (of a stock)  detach ttl= [pid=]
//               here    (the answer to "there")
//   keeper:     granted ...  renewed deadline=  unrenewed why=  lost why= final= by=
//               refused code= message= next= [state]  waiting [state]  unreached why=  reached
//               withdrawn  released  unconfirmed code= message= next=
//               there       (is the supervisor? it has a grant and has not said "started")
//               more        (the supervisor has read nothing for long: the latest renewal comes once it has)
//               gone why= code=   (it cannot go on; renewals have ended)

inline constexpr Log::Style kSilent{.quiet = true};

/// acquire: the whole of the spec and the URL, password included (a socket pair has no other reader).
/// `style`: how, and how much, the keeper says on stderr.
Message acquire_message(const BackendUrl& url, const LockSpec& spec, const Log::Style& style = kSilent);
struct AcquireRequest {
  BackendUrl url;
  LockSpec spec;
  Log::Style style = kSilent;
};
Result<AcquireRequest> parse_acquire(const Message& message);

/// Messages of the keeper as events of a session, and back. Invalid for an unknown verb, a missing or
/// malformed field.
Message event_message(const SessionEvent& event);
Result<SessionEvent> parse_event(const Message& message);

/// For the session itself, and no events: "there" is answered with "here"; after "more" it waits a moment.
inline constexpr std::string_view kThere = "there";
inline constexpr std::string_view kHere = "here";
inline constexpr std::string_view kMore = "more";

/// The deadline= of withdraw and release.
Message deadline_message(const std::string& verb, TimePoint deadline);
Result<TimePoint> parse_deadline(const Message& message);

}  // namespace dlock
