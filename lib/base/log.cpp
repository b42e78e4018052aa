// SPDX-License-Identifier: Apache-2.0
#include "lib/base/log.h"

#include <algorithm>

#include "lib/base/clock.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

/// The longest message, in bytes: the reasons of several servers fit in.
constexpr std::size_t kLongest = 4096;

/// That an advice names, and that ask a store.
constexpr std::string_view kAskingCommands[] = {"dlock doctor", "dlock inspect", "dlock force-release", "dlock setup",
                                                "dlock stock"};

}  // namespace

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
  constexpr const char* kNames[] = {"busy",          "unavailable", "lost",   "overheld", "invalid",
                                    "misconfigured", "unsupported", "denied", "conflict", "short",
                                    "repeated",      "cancelled",   "system", "internal"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ErrorCode::kInternal) + 1);
  return kNames[static_cast<std::size_t>(code)];
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
  if (style_.verbose) say("verbose", message, {}, {"step"});
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

namespace {

/// Of a part of an advice, at "; " outside of what a shell has quoted.
std::size_t end_of_part(std::string_view advice) {
  bool quoted = false;
  bool of_word = true;  // whether a quote here would begin or go on with a word of a shell, and is no apostrophe
  for (std::size_t at = 0; at < advice.size(); ++at) {
    const char c = advice[at];
    if (quoted ? c == '\'' : c == '\'' && of_word) quoted = !quoted;
    else if (!quoted && advice.substr(at, 2) == "; ") return at;
    else if (!quoted && c == '\\') ++at;
    of_word = c == '\'' || c == '\\' || c == ' ' || c == '=' || c == '$';
  }
  return advice.size();
}

/// Each part of an advice on a line of its own where one line would be too long: a command in it stays whole.
void put_advice(std::string& line, std::string_view advice) {
  constexpr std::size_t kWidth = 78;
  while (!advice.empty()) {
    const std::size_t end = advice.size() > kWidth ? end_of_part(advice) : advice.size();
    line.append("  ").append(advice.substr(0, end)).append("\n");
    advice.remove_prefix(std::min(advice.size(), end + 2));
  }
}

}  // namespace

void Log::say(const char* level, std::string_view message, std::string_view next, const About& about) const {
  std::string line;
  if (style_.format == Format::kJson) {
    line = json_line(level, message, next, about);
  } else {
    const bool bad = std::string_view(level) == "error";
    line = style_.colour ? (bad ? "\033[31mdlock:\033[0m " : "\033[33mdlock:\033[0m ") : "dlock: ";
    line.append(printable(message, kLongest)).append("\n");
    put_advice(line, printable(next, kLongest));
  }
  write_in_time(fd_, line);
}

}  // namespace dlock
