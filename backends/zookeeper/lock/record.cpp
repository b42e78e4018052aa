// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/record.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>

#include "lib/base/text.h"
#include "lib/base/users.h"
#include "lib/config/duration_text.h"

namespace dlock::zookeeper {
namespace {

constexpr std::string_view kOurs = "dlock ";
constexpr auto kLongestDelay = std::chrono::floor<std::chrono::milliseconds>(kLongestDuration);

std::string percent(std::string_view text) {
  return percent_escaped(text, [](unsigned char c) { return c > 0x20 && c != 0x7f && c != '%'; });
}

/// Text that is not one of our escapes stays as it is.
std::string plain(std::string_view text) { return percent_unescaped(text).value_or(std::string(text)); }

using Fields = std::map<std::string, std::string, std::less<>>;

std::string text(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

std::int64_t number(const Fields& fields, std::string_view name) {
  return leading_number<std::int64_t>(text(fields, name));
}

/// Any client may write a node: values beyond every limit are cut to one that can be reckoned with.
std::int64_t amount(const Fields& fields, std::string_view name, std::int64_t most) {
  return std::clamp<std::int64_t>(number(fields, name), 0, most);
}

std::chrono::milliseconds delay(const Fields& fields, std::string_view name) {
  return std::chrono::milliseconds(amount(fields, name, kLongestDelay.count()));
}

Mode mode_of(const std::string& name) {
  for (const Mode mode : {Mode::kShared, Mode::kPermits}) {
    if (name == mode_name(mode)) return mode;
  }
  return Mode::kExclusive;
}

}  // namespace

HolderRecord record_of(const LockSpec& spec) {
  utsname machine{};
  uname(&machine);
  HolderRecord record;
  record.owner = spec.owner.text();
  record.host = machine.nodename;
  record.pid = getppid();
  record.user = user_name(geteuid());
  record.mode = spec.mode;
  record.permits = spec.permits;
  record.lock_delay = spec.lock_delay;
  record.reason = spec.reason;
  record.left_to = spec.left_to;
  record.command = spec.command;
  record.at_least = spec.at_least;
  record.supersedes = spec.supersedes;
  return record;
}

std::string encode(const HolderRecord& data) {
  std::string out = "dlock";
  const auto add = [&](std::string_view name, const std::string& value) {
    out.append(" ").append(name).append("=").append(percent(value));
  };
  const auto add_some = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) add(name, value);
  };
  const auto add_ms = [&](std::string_view name, Duration time) {
    if (time > Duration(0)) add(name, std::to_string(std::chrono::ceil<std::chrono::milliseconds>(time).count()));
  };
  add("owner", data.owner);
  add("host", data.host);
  add("pid", std::to_string(data.pid));
  add("user", data.user);
  add("mode", mode_name(data.mode));
  if (data.permits > 0) add("permits", std::to_string(data.permits));
  add_some("slot", data.slot);
  add_ms("delay_ms", data.lock_delay);
  add_some("freed_by", data.freed_by);
  if (data.heard) add("heard", "1");
  add_some("revoked_by", data.revoked);
  if (data.supersedes != Supersedes::kNothing) {
    add("wait", data.supersedes == Supersedes::kReplace ? "replace" : "newest");
  }
  if (data.left_to) add("left_to", std::to_string(*data.left_to));
  add_ms("at_least_ms", data.at_least);
  add_some("command", data.command);
  add_some("reason", data.reason);
  return out;
}

std::optional<HolderRecord> decode_record(std::string_view line) {
  if (!line.starts_with(kOurs)) return std::nullopt;
  line.remove_prefix(kOurs.size());
  Fields fields;
  while (!line.empty()) {
    std::string_view value = cut(line, ' ');
    if (value.find('=') == std::string_view::npos) continue;
    const std::string_view name = cut(value, '=');
    fields.emplace(name, plain(value));
  }
  HolderRecord data;
  data.owner = text(fields, "owner");
  if (data.owner.empty()) return std::nullopt;
  data.host = text(fields, "host");
  data.pid = number(fields, "pid");
  data.user = text(fields, "user");
  data.mode = mode_of(text(fields, "mode"));
  data.permits = static_cast<int>(amount(fields, "permits", std::numeric_limits<int>::max()));
  data.slot = text(fields, "slot");
  data.lock_delay = delay(fields, "delay_ms");
  data.freed_by = text(fields, "freed_by");
  data.heard = text(fields, "heard") == "1";
  data.revoked = text(fields, "revoked_by");
  const std::string wait = text(fields, "wait");
  if (wait == "replace") data.supersedes = Supersedes::kReplace;
  if (wait == "newest") data.supersedes = Supersedes::kNewest;
  if (fields.contains("left_to")) data.left_to = number(fields, "left_to");
  data.at_least = delay(fields, "at_least_ms");
  data.command = text(fields, "command");
  data.reason = text(fields, "reason");
  return data;
}

bool asks_to_release(std::string_view data) { return data == "__REVOKE__" || data == "unlock"; }

}  // namespace dlock::zookeeper
