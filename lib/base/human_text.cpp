// SPDX-License-Identifier: Apache-2.0
#include "lib/base/human_text.h"

#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "lib/base/text.h"

namespace dlock {
namespace {

bool is_control(std::uint32_t code) {
  // Besides C0 and C1: the marks that turn the direction of what follows, and those that break lines.
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x2028 || code == 0x2029;
}

/// A rough wcwidth(3) that needs no locale: good enough to align columns.
std::size_t columns_of(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kNone[] = {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
  constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                             {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                             {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  for (const Range& range : kNone) {
    if (code >= range.first && code <= range.last) return 0;
  }
  for (const Range& range : kWide) {
    if (code >= range.first && code <= range.last) return 2;
  }
  return 1;
}

std::string two_units(std::int64_t big, const char* big_unit, std::int64_t small, const char* small_unit) {
  std::string text = std::to_string(big) + ' ' + big_unit;
  if (small > 0) text += ' ' + std::to_string(small) + ' ' + small_unit;
  return text;
}

}  // namespace

std::string human_duration(Duration length) {
  if (length <= Duration::zero()) return "0 s";
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
  if (ms < 1000) return ms == 0 ? "less than 1 ms" : std::to_string(ms) + " ms";
  const std::int64_t s = ms / 1000;
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return two_units(s / 60, "min", s % 60, "s");
  if (s < 86400) return two_units(s / 3600, "h", s % 3600 / 60, "min");
  return two_units(s / 86400, "d", s % 86400 / 3600, "h");
}

std::string rfc3339(WallTime time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  const std::int64_t fraction = ((ms % 1000) + 1000) % 1000;
  const time_t seconds = (ms - fraction) / 1000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(fraction));
  return text;
}

std::string printable(std::string_view text, std::size_t most) {
  constexpr std::string_view kEllipsis = "…";
  std::string out;
  out.reserve(std::min(text.size(), most));
  std::size_t cut = 0;  // where the ellipsis would have room
  while (!text.empty()) {
    const Utf8Character c = front_character(text);
    out += c.valid && !is_control(c.code) ? text.substr(0, c.bytes) : kReplacementCharacter;
    if (out.size() > most) return out.substr(0, cut).append(kEllipsis);
    if (out.size() + kEllipsis.size() <= most) cut = out.size();
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character c = front_character(text);
    columns += c.valid ? columns_of(c.code) : 1;
    text.remove_prefix(c.bytes);
  }
  return columns;
}

std::string elided(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string out;
  std::size_t used = 1;  // the ellipsis
  while (!text.empty()) {
    const Utf8Character c = front_character(text);
    used += c.valid ? columns_of(c.code) : 1;
    if (used > columns) break;
    out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out + "…";
}

std::string permissions_text(unsigned mode) {
  std::string text;
  for (const int shift : {9, 6, 3, 0}) text += static_cast<char>('0' + (mode >> shift & 7));
  return text;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + '\'';
}

std::string shown_shell_word(std::string_view word) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
  if (std::all_of(word.begin(), word.end(), is_plain)) return shell_word(word);
  std::string out = "$'";
  for (const char c : word) {
    char text[8];
    if (c == '\n') out += "\\n";
    else if (c == '\'' || c == '\\') out.append(1, '\\').append(1, c);
    else if (is_plain(c)) out += c;
    else out.append(text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "\\%03o", c)));
  }
  return out + '\'';
}

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  return name ? name : "signal " + std::to_string(number);
}

std::string wait_status_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "ended by " + signal_text(WTERMSIG(wait_status));
  return "status " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace dlock
