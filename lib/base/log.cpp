// SPDX-License-Identifier: Apache-2.0
#include "lib/base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/clock.h"
#include "lib/base/human_text.h"

namespace dlock {
namespace {

/// The longest message, in bytes: the reasons of several servers fit in.
constexpr std::size_t kLongest = 4096;

/// That an advice names, and that ask a store.
constexpr std::string_view kAskingCommands[] = {"dlock doctor", "dlock inspect", "dlock force-release", "dlock setup",
                                                "dlock stock"};

/// How long a reader may be in arrears. While a lock is held nothing else is done meanwhile.
constexpr int kReaderPatienceMs = 500;

/// False, with EAGAIN, if nothing can be written within `ms`. What is wrong with the descriptor is for write(2) to say.
bool has_room(int fd, int ms) {
  pollfd output{fd, POLLOUT, 0};
  int ready = 0;
  while ((ready = poll(&output, 1, ms)) < 0 && errno == EINTR) {
  }
  if (ready == 0) errno = EAGAIN;
  return ready != 0;
}

}  // namespace

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool write_in_time(int fd, std::string_view text) {
  static int in_arrears = -1;
  if (fcntl(fd, F_GETFL) & O_NONBLOCK) return write_all(fd, text);  // whoever made it so chose to lose what has no room
  while (!text.empty()) {
    const bool room = has_room(fd, fd == in_arrears ? 0 : kReaderPatienceMs);
    if (!room) in_arrears = fd;
    else if (fd == in_arrears) in_arrears = -1;
    // A pipe with room has room for so much.
    const std::string_view piece = text.substr(0, PIPE_BUF);
    if (!room || !write_all(fd, piece)) return false;
    text.remove_prefix(piece.size());
  }
  return true;
}

std::string with_options(std::string advice, std::string_view options) {
  if (options.empty()) return advice;
  for (const std::string_view command : kAskingCommands) {
    for (std::size_t at = advice.find(command); at != std::string::npos; at = advice.find(command, at + 1)) {
      advice.insert(at + command.size(), options);
    }
  }
  return advice;
}

const char* error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kLost:
      return "lost";
    case ErrorCode::kOverheld:
      return "overheld";
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kMisconfigured:
      return "misconfigured";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kShort:
      return "short";
    case ErrorCode::kRepeated:
      return "repeated";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kSystem:
      return "system";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

void Log::error(const Error& error, const About& about) const {
  const char* event = *about.event != '\0' ? about.event : error_name(error.code);
  say("error", error.message, with_options(error.next, same_store_), {event, about.key, about.holder});
}

void Log::warn(std::string_view message, const About& about) const {
  if (!style_.quiet) say("warning", message, {}, about);
}

void Log::notice(std::string_view message, const About& about) const {
  if (!style_.quiet) say("notice", message, {}, about);
}

void Log::verbose(std::string_view message) const {
  if (style_.verbosity > 0) say("verbose", message, {}, {"step"});
}

std::string Log::json_line(const char* level, std::string_view message, std::string_view next,
                           const About& about) const {
  const std::string& key = about.key.empty() ? key_ : about.key;
  std::string line =
      "{\"schema\":\"dlock.log/1\",\"time\":\"" + rfc3339(SystemClock().wall()) + "\",\"level\":\"" + level;
  line += std::string("\",\"event\":\"") + (*about.event != '\0' ? about.event : "note") + "\",\"key\":";
  line += key.empty() ? "null" : json_quote(key);
  line += ",\"holder\":" + (about.holder.empty() ? "null" : about.holder);
  line += ",\"message\":" + json_quote(message);
  if (!next.empty()) line += ",\"next\":" + json_quote(next);
  return line + "}\n";
}

void Log::say(const char* level, std::string_view message, std::string_view next, const About& about) const {
  std::string line;
  if (style_.format == Format::kJson) {
    line = json_line(level, message, next, about);
  } else {
    const bool bad = std::string_view(level) == "error";
    line = style_.colour ? (bad ? "\033[31mdlock:\033[0m " : "\033[33mdlock:\033[0m ") : "dlock: ";
    line.append(printable(message, kLongest)).append("\n");
    if (!next.empty()) line.append("  ").append(printable(next, kLongest)).append("\n");
  }
  write_in_time(fd_, line);
}

}  // namespace dlock
