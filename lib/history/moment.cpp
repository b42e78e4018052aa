// SPDX-License-Identifier: Apache-2.0
#include "lib/history/moment.h"

#include <algorithm>
#include <ctime>

#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/config/duration_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr int kLeapSecond = 60;

/// Whether `text` begins as `form` does, in which 0 is any digit.
bool begins_as(std::string_view text, std::string_view form) {
  const auto fits = [](char wanted, char c) { return wanted == '0' ? c >= '0' && c <= '9' : c == wanted; };
  return text.size() >= form.size() && std::equal(form.begin(), form.end(), text.begin(), fits);
}

int number_at(std::string_view text, std::size_t at, std::size_t digits = 2) {
  return whole_number<int>(text.substr(at, digits)).value_or(0);
}

bool take_char(std::string_view& rest, char what) {
  if (!rest.starts_with(what)) return false;
  rest.remove_prefix(1);
  return true;
}

bool is_in_calendar(int year, int month, int day) { return (std::chrono::year(year) / month / day).ok(); }

/// 2026-02-03
bool take_date(std::string_view& rest, tm& out) {
  if (!begins_as(rest, "0000-00-00")) return false;
  out.tm_year = number_at(rest, 0, 4) - 1900;
  out.tm_mon = number_at(rest, 5) - 1;
  out.tm_mday = number_at(rest, 8);
  rest.remove_prefix(10);
  return is_in_calendar(out.tm_year + 1900, out.tm_mon + 1, out.tm_mday);
}

/// 04:05, 04:05:06, 04:05:06.789; what is finer than a second is left in `fraction`.
bool take_time(std::string_view& rest, tm& out, microseconds& fraction) {
  if (!begins_as(rest, "00:00")) return false;
  const bool seconds = begins_as(rest, "00:00:00");
  out.tm_hour = number_at(rest, 0);
  out.tm_min = number_at(rest, 3);
  out.tm_sec = seconds ? number_at(rest, 6) : 0;
  rest.remove_prefix(seconds ? 8 : 5);
  fraction = 0us;
  if (seconds && begins_as(rest, ".0")) {
    rest.remove_prefix(1);
    for (microseconds unit = 100ms; begins_as(rest, "0"); unit /= 10) {
      fraction += number_at(rest, 0, 1) * unit;
      rest.remove_prefix(1);
    }
  }
  return out.tm_hour <= 23 && out.tm_min <= 59 && out.tm_sec <= (out.tm_min == 59 ? kLeapSecond : 59);
}

/// Z, +01:00
std::optional<std::chrono::seconds> take_zone(std::string_view& rest) {
  if (take_char(rest, 'Z')) return 0s;
  const bool west = rest.starts_with('-');
  if (!begins_as(rest, west ? "-00:00" : "+00:00")) return std::nullopt;
  const int hours = number_at(rest, 1);
  const int minutes = number_at(rest, 4);
  rest.remove_prefix(6);
  if (hours > 23 || minutes > 59) return std::nullopt;
  const std::chrono::seconds offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
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

/// 03:00, of today.
std::optional<WallTime> parse_time_of_day(std::string_view text, WallTime now) {
  if (text.size() != 5) return std::nullopt;
  tm parts = local_parts(now);
  microseconds fraction{};
  if (!take_time(text, parts, fraction)) return std::nullopt;
  return from_local(parts, fraction);
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
  if (const auto moment = parse_time_of_day(text, now)) return *moment;
  if (const auto moment = parse_rfc3339(text)) return *moment;
  if (const auto ago = parse_duration(text)) return now - std::chrono::duration_cast<microseconds>(*ago);
  return Error{ErrorCode::kInvalid, "'" + printable(text, 80) + "' is not a moment",
               "write how long ago (90s, 2d), or when: today, 03:00, 2026-02-03T03:00:00Z"};
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
