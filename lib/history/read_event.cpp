// SPDX-License-Identifier: Apache-2.0
// The only file that knows the JSON library.
#include <chrono>
#include <utility>

#define JSON_NO_IO 1
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/config/duration_text.h"
#include "lib/history/event.h"
#include "lib/history/moment.h"

namespace dlock {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kStart = "{\"schema\":\"dlock.event/1\"";

std::string text_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::optional<std::int64_t> number_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_integer() ? std::optional(at->get<std::int64_t>()) : std::nullopt;
}

std::optional<Duration> duration_of(const Json& object, const std::string& name) {
  const auto ms = number_of(object, (name + "_ms").c_str());
  const bool fits = ms && *ms >= 0 && *ms <= kLongestDuration / std::chrono::milliseconds(1);
  return fits ? std::optional<Duration>(std::chrono::milliseconds(*ms)) : std::nullopt;
}

std::optional<int> small_number_of(const Json& object, const char* name) {
  const auto number = number_of(object, name);
  return number && std::in_range<int>(*number) ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// The span between two of them, with a duration at either end, can be counted.
std::optional<WallTime> moment_of(const Json& object, const char* name) {
  const auto moment = parse_rfc3339(text_of(object, name));
  constexpr auto kLast = std::chrono::duration_cast<WallTime::duration>(kLongestDuration) * 3 / 2;
  return moment && *moment >= WallTime() && *moment <= WallTime(kLast) ? moment : std::nullopt;
}

bool is_true(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}

  void operator()(const char* name, std::string& text) { text = text_of(object_, name); }
  void operator()(const char* name, FencingToken& token) {
    token = FencingToken(static_cast<std::uint64_t>(number_of(object_, name).value_or(0)));
  }
  void operator()(const char* name, std::int64_t& pid) { pid = number_of(object_, name).value_or(0); }
  void operator()(const char* name, int& count) { count = small_number_of(object_, name).value_or(count); }
  void operator()(const char* name, Mode& mode) {
    const std::string text = text_of(object_, name);
    mode = text == "shared" ? Mode::kShared : text == "permits" ? Mode::kPermits : Mode::kExclusive;
  }
  void operator()(const char* name, std::optional<Duration>& value) { value = duration_of(object_, name); }
  void operator()(const char* name, Duration& value) { value = duration_of(object_, name).value_or(value); }
  void operator()(const char* name, std::optional<int>& value) { value = small_number_of(object_, name); }
  void operator()(const char* name, std::optional<WallTime>& value) { value = moment_of(object_, name); }
  void operator()(const char* name, bool& value) { value = is_true(object_, name); }
  template <typename T>
  void rare(const char* name, T& value) {
    (*this)(name, value);
  }
  template <typename T>
  void unshown(const char* /*name*/, T& /*value*/) {}

 private:
  const Json& object_;
};

std::optional<Event> event_of(const Json& object) {
  const auto kind = event_kind(text_of(object, "event"));
  const auto time = moment_of(object, "time");
  if (!kind || !time || text_of(object, "key").empty()) return std::nullopt;
  Event event;
  event.kind = *kind;
  event.time = *time;
  event.key = text_of(object, "key");
  FieldReader reader(object);
  visit_fields(event, reader);
  if (const auto holder = object.find("holder"); holder != object.end() && holder->is_object()) {
    FieldReader of_holder(*holder);
    visit_fields(event.holder.emplace(), of_holder);
  }
  return event;
}

}  // namespace

ReadLine read_event(std::string_view line) {
  const std::size_t last = line.rfind(kStart);
  if (last == std::string_view::npos) return {std::nullopt, line.starts_with("{\"schema\":\"dlock.ev")};
  const Json object = Json::parse(line.substr(last), nullptr, false);
  if (!object.is_object()) return {std::nullopt, true};
  return {event_of(object), line.find(kStart) != last};
}

std::optional<std::string> journal_message(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  std::string text = text_of(object, "DLOCK_JSON");
  return text.empty() ? text_of(object, "MESSAGE") : text;
}

}  // namespace dlock
