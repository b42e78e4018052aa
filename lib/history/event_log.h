// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/base/log.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/history/event.h"
#include "lib/history/history.h"

namespace dlock {

/// Where events are written to, and read from (--events).
struct EventPlace {
  enum class Kind { kOff, kFile, kJournal, kDescriptor };
  Kind kind = Kind::kOff;
  std::string path = {};  ///< of the file; of the socket of the journal
  int fd = -1;
  bool typed = false;  ///< on the command line

  /// As it is given: "/var/log/dlock.events", "journald", "fd:3".
  std::string text() const;
};

/// off, journald, journald:/SOCKET, fd:N; what has a '/' is a file. Invalid for anything else,
/// for fd: without a number, and for a socket that is not an absolute path.
Result<EventPlace> parse_event_place(std::string_view text);

/// The same for one that was typed; also Invalid for a descriptor that this process does not have, or not for writing.
Result<EventPlace> parse_open_event_place(std::string_view text);

/// Opens the file of a place that was typed, as an event would, and closes it again: the error of open(2), before
/// anything is locked. A pipe without a reader may get one.
Result<void> check_event_file(const EventPlace& place);

/// Appends events where they belong, in one write each. append() does not wait for a reader and does not fail; the
/// first event that is not taken is reported as a warning, later ones are tried in silence, and a journal that is not
/// there is no news unless it was typed: one configuration serves machines and containers. A file is opened for each
/// event, so that rotating it needs no signal. `log` must outlive this.
class EventLog {
 public:
  EventLog(EventPlace place, const Log& log) : place_(std::move(place)), log_(log) {}

  bool is_off() const { return place_.kind == EventPlace::Kind::kOff; }
  void append(const Event& event);

 private:
  bool is_usual_journal() const {
    return place_.kind == EventPlace::Kind::kJournal && place_.path.empty() && !place_.typed;
  }
  /// 0, or the errno.
  int write_down(const Event& event);

  EventPlace place_;
  const Log& log_;
  bool warned_ = false;
};

/// The fields of one event as systemd-journald takes them (systemd.io/JOURNAL_NATIVE_PROTOCOL).
std::string journal_datagram(const Event& event);

enum class Pipes {
  kRefused,  ///< as if nothing could be read from them
  kRead      ///< to their end, for which it waits
};

/// Calls `use` with each line that was recorded in `place`, the oldest first: FILE.1, which logrotate leaves, before
/// FILE. Misconfigured if no events are recorded, or where they cannot be read; Denied if that is not ours to read.
Result<void> read_events(const EventPlace& place, const std::function<void(std::string_view line)>& use,
                         Pipes pipes = Pipes::kRefused);

/// The same as a history that ends `now`.
Result<History> read_history(const EventPlace& place, WallTime now, Pipes pipes = Pipes::kRefused);

}  // namespace dlock
