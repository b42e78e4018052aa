// SPDX-License-Identifier: Apache-2.0
#include "lib/history/moment.h"

#include <ctime>

#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/config/duration_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr int kLeapSecond = 60;

/// Two digits, or four, in front of `rest`, which loses them; nullopt if they are not there.
std::optional<int> digits(std::string_view& rest, std::size_t count) {
  if (rest.size() < count || rest.front() == '-') return std::nullopt;
  const auto number = whole_number<int>(rest.substr(0, count));
  if (number) rest.remove_prefix(count);
  return number;
}

bool take_char(std::string_view& rest, char what) {
  if (!rest.starts_with(what)) return false;
  rest.remove_prefix(1);
  return true;
}

bool is_in_calendar(int year, int month, int day) { return (std::chrono::year(year) / month / day).ok(); }

/// 2026-02-03
bool take_date(std::string_view& rest, tm& out) {
  std::string_view ahead = rest;
  const auto year = digits(ahead, 4);
  if (!year || !take_char(ahead, '-')) return false;
  const auto month = digits(ahead, 2);
  if (!month || !take_char(ahead, '-')) return false;
  const auto day = digits(ahead, 2);
  if (!day || !is_in_calendar(*year, *month, *day)) return false;
  out.tm_year = *year - 1900;
  out.tm_mon = *month - 1;
  out.tm_mday = *day;
  rest = ahead;
  return true;
}

/// 04:05, 04:05:06, 04:05:06.789; what is finer than a second is left in `fraction`.
bool take_time(std::string_view& rest, tm& out, microseconds& fraction) {
  std::string_view ahead = rest;
  const auto hour = digits(ahead, 2);
  if (!hour || *hour > 23 || !take_char(ahead, ':')) return false;
  const auto minute = digits(ahead, 2);
  if (!minute || *minute > 59) return false;
  out.tm_hour = *hour;
  out.tm_min = *minute;
  out.tm_sec = 0;
  fraction = 0us;
  if (take_char(ahead, ':')) {
    const auto second = digits(ahead, 2);
    if (!second || *second > (*minute == 59 ? kLeapSecond : 59)) return false;
    out.tm_sec = *second;
    if (take_char(ahead, '.')) {
      if (ahead.empty() || ahead.front() < '0' || ahead.front() > '9') return false;
      microseconds unit = 100ms;
      while (!ahead.empty() && ahead.front() >= '0' && ahead.front() <= '9') {
        fraction += (ahead.front() - '0') * unit;
        unit /= 10;
        ahead.remove_prefix(1);
      }
    }
  }
  rest = ahead;
  return true;
}

/// Z, +01:00
std::optional<std::chrono::seconds> take_zone(std::string_view& rest) {
  if (take_char(rest, 'Z')) return 0s;
  const bool west = rest.starts_with('-');
  if (!west && !rest.starts_with('+')) return std::nullopt;
  std::string_view ahead = rest.substr(1);
  const auto hours = digits(ahead, 2);
  if (!hours || *hours > 23 || !take_char(ahead, ':')) return std::nullopt;
  const auto minutes = digits(ahead, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  rest = ahead;
  const std::chrono::seconds offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return west ? -offset : offset;
}

WallTime from_utc(tm parts, microseconds fraction) { return WallTime(std::chrono::seconds(timegm(&parts)) + fraction); }

WallTime from_local(tm parts, microseconds fraction) {
  parts.tm_isdst = -1;
  return WallTime(std::chrono::seconds(mktime(&parts)) + fraction);
}

tm local_parts(WallTime time) {
  const time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

/// A date, a time, or both, with a zone or in that of this process.
std::optional<WallTime> parse_date_and_time(std::string_view text, WallTime now) {
  tm parts = local_parts(now);
  const bool dated = take_date(text, parts);
  microseconds fraction{};
  if (dated) parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  if (dated && text.empty()) return from_local(parts, fraction);
  if (dated && !take_char(text, 'T') && !take_char(text, ' ')) return std::nullopt;
  if (!take_time(text, parts, fraction)) return std::nullopt;
  if (text.empty()) return from_local(parts, fraction);
  const auto zone = take_zone(text);
  if (!zone || !text.empty() || !dated) return std::nullopt;
  return from_utc(parts, fraction) - *zone;
}

}  // namespace

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  tm parts{};
  microseconds fraction{};
  if (!take_date(text, parts) || !take_char(text, 'T') || !take_time(text, parts, fraction)) return std::nullopt;
  const auto zone = take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  return from_utc(parts, fraction) - *zone;
}

Result<WallTime> parse_moment(std::string_view text, WallTime now) {
  if (text == "today" || text == "yesterday") {
    tm midnight = local_parts(now);
    midnight.tm_hour = midnight.tm_min = midnight.tm_sec = 0;
    if (text == "yesterday") --midnight.tm_mday;
    return from_local(midnight, 0us);
  }
  if (const auto moment = parse_date_and_time(text, now)) return *moment;
  if (const auto ago = parse_duration(text)) return now - std::chrono::duration_cast<microseconds>(*ago);
  return Error{ErrorCode::kInvalid, "'" + printable(text, 80) + "' is not a moment",
               "write how long ago (90s, 1h, 2d), or when: today, yesterday, 2026-02-03, 03:00, '2026-02-03 03:00'"};
}

Zone zone_at(WallTime time) {
  const tm parts = local_parts(time);
  return {std::chrono::seconds(parts.tm_gmtoff), parts.tm_zone ? parts.tm_zone : ""};
}

std::string local_time(WallTime time) {
  std::string text = rfc3339(time + zone_at(time).ahead).substr(0, 19);
  text[10] = ' ';
  return text;
}

}  // namespace dlock
