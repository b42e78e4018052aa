// SPDX-License-Identifier: Apache-2.0
#include "lib/config/duration_text.h"

#include <cstdint>

#include "lib/base/text.h"

namespace dlock {
namespace {

using std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  std::int64_t length;  ///< ns
};

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr Unit kUnits[] = {
    {"d", 86400 * kSecond}, {"h", 3600 * kSecond}, {"m", 60 * kSecond},
    {"min", 60 * kSecond},  {"s", kSecond},        {"ms", kMillisecond},
};
constexpr std::size_t kLongestGuess = 40;  ///< characters of a suggestion
constexpr std::int64_t kLongestNs = kLongestDuration.count();

struct Spelling {
  std::string_view word, unit;
};
constexpr Spelling kSpellings[] = {
    {"day", "d"},     {"days", "d"},   {"hr", "h"},      {"hrs", "h"},           {"hour", "h"}, {"hours", "h"},
    {"mins", "m"},    {"minute", "m"}, {"minutes", "m"}, {"sec", "s"},           {"secs", "s"}, {"second", "s"},
    {"seconds", "s"}, {"msec", "ms"},  {"msecs", "ms"},  {"milliseconds", "ms"},
};

Error bad_duration(std::string_view text, std::string_view why) {
  std::string message = "'";
  message.append(utf8_prefix(text, 40))
      .append(text.size() > 40 ? "...'" : "'")
      .append(" is not a duration: ")
      .append(why);
  return {ErrorCode::kInvalid, std::move(message), "write for example 10 (seconds), 0.5, 500ms, 1m30s, 2h or 1d"};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <typename Predicate>
std::string_view take_while(std::string_view& text, Predicate matches) {
  std::size_t length = 0;
  while (length < text.size() && matches(text[length])) ++length;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

/// whole.fraction units of `length` ns, or -1 when that is more than kLongestNs.
std::int64_t scale(std::string_view whole, std::string_view fraction, std::int64_t length) {
  std::int64_t sum = 0;
  for (const char digit : whole) {
    sum = sum * 10 + (digit - '0');
    if (sum > kLongestNs / length) return -1;
  }
  sum *= length;
  // The place value of each digit in ns, exactly: the remainder is carried along instead of a rounded tenth. Eighteen
  // digits reach below a nanosecond of a day.
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  for (const char digit : fraction.substr(0, 18)) {
    numerator = numerator * 10 + (digit - '0');
    denominator *= 10;
  }
  sum += static_cast<std::int64_t>(static_cast<__int128>(numerator) * length / denominator);
  return sum > kLongestNs ? -1 : sum;
}

/// The beginning of the words for a missing unit, with the character that stands where it should be.
std::string no_unit(std::string_view text, std::string_view rest) {
  std::string why = "a number has no unit (d, h, m, s, ms)";
  if (rest.empty() || rest.front() < ' ' || rest.front() > '~') return why;
  return why + ", character " + std::to_string(text.size() - rest.size() + 1) + " is '" + rest.front() + "'";
}

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

/// As it is written here.
Result<Duration> read_duration(std::string_view text) {
  if (text.empty()) return bad_duration(text, "it is empty");
  if (text.front() == '-') return bad_duration(text, "it is negative");
  std::int64_t sum = 0;
  std::int64_t smallest = INT64_MAX;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view whole = take_while(rest, is_digit);
    std::string_view fraction;
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      fraction = take_while(rest, is_digit);
      if (fraction.empty()) return bad_duration(text, "a digit is missing after the decimal point");
    } else if (whole.empty()) {
      return bad_duration(text, "a number is missing");
    }
    const std::string_view name = take_while(rest, is_letter);
    const bool bare = name.empty() && rest.empty() && smallest == INT64_MAX;
    if (name.empty() && !bare) return bad_duration(text, no_unit(text, rest));
    const Unit* unit = find_unit(bare ? "s" : name);
    if (unit == nullptr) {
      return bad_duration(text, "unknown unit '" + std::string(utf8_prefix(name, 20)) + "' (they are d, h, m, s, ms)");
    }
    if (unit->length >= smallest) return bad_duration(text, "its units are not ordered from large to small");
    smallest = unit->length;
    const std::int64_t part = scale(whole, fraction, unit->length);
    if (part < 0 || part > kLongestNs - sum) return bad_duration(text, "longer than 100 years (36500d)");
    sum += part;
  }
  return Duration(sum);
}

/// `text` with a point for a comma and without blanks and capitals, its units as they are written here.
std::string usual_spelling(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view word = take_while(text, is_letter);
    std::string lower;
    for (const char c : word) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const Spelling& one : kSpellings) {
      if (one.word == lower) lower = one.unit;
    }
    out += lower;
    const std::string_view other = take_while(text, [](char c) { return !is_letter(c); });
    for (const char c : other) {
      if (c != ' ') out += c == ',' ? '.' : c;
    }
  }
  return out;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  auto read = read_duration(text);
  if (read) return read;
  Error error = read.error();
  const std::string meant = usual_spelling(text.substr(0, kLongestGuess));
  if (text.size() <= kLongestGuess && meant != text && read_duration(meant)) {
    error.next = "did you mean '" + meant + "'? For example: 10 (seconds), 0.5, 500ms, 10s, 1m30s, 2h, 1d";
  }
  return error;
}

std::string spell_duration(Duration duration) {
  std::int64_t rest = duration.count();
  if (rest == 0) return "0";
  if (rest < kMillisecond) return "0." + std::to_string(kSecond + rest).substr(1) + "s";
  std::string text;
  for (const Unit& unit : kUnits) {
    if (unit.name == "min") continue;
    if (rest >= unit.length) text += std::to_string(rest / unit.length) + std::string(unit.name);
    rest %= unit.length;
  }
  return text;
}

}  // namespace dlock
