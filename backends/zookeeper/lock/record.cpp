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

/// What is no escape of ours is left as it is.
std::string plain(std::string_view text) { return percent_unescaped(text).value_or(std::string(text)); }

std::int64_t number(const std::map<std::string, std::string, std::less<>>& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : leading_number<std::int64_t>(found->second);
}

/// Anybody may write a node: what nobody could have asked for is cut to what can be reckoned with.
std::int64_t amount(const std::map<std::string, std::string, std::less<>>& fields, std::string_view name,
                    std::int64_t most) {
  return std::clamp<std::int64_t>(number(fields, name), 0, most);
}

std::string text(const std::map<std::string, std::string, std::less<>>& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
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
  return {spec.owner.text(),
          machine.nodename,
          getppid(),
          user_name(geteuid()),
          spec.mode,
          spec.permits,
          spec.lock_delay,
          spec.reason,
          "",
          false,
          "",
          spec.left_to,
          spec.command,
          false,
          spec.at_least,
          "",
          spec.supersedes};
}

std::string encode(const HolderRecord& data) {
  std::string out(kOurs);
  out.append("owner=").append(data.owner).append(" host=").append(percent(data.host));
  out.append(" pid=").append(std::to_string(data.pid)).append(" user=").append(percent(data.user));
  out.append(" mode=").append(mode_name(data.mode));
  if (data.permits > 0) out.append(" permits=").append(std::to_string(data.permits));
  if (!data.slot.empty()) out.append(" slot=").append(percent(data.slot));
  if (data.lock_delay > Duration(0)) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(data.lock_delay).count();
    out.append(" delay_ms=").append(std::to_string(ms));
  }
  if (data.ended) out.append(" ended=1");
  if (!data.freed_by.empty()) out.append(" freed_by=").append(percent(data.freed_by));
  if (data.heard) out.append(" heard=1");
  if (!data.revoked_by.empty()) out.append(" revoked_by=").append(percent(data.revoked_by));
  if (data.supersedes == Supersedes::kReplace) out.append(" wait=replace");
  if (data.supersedes == Supersedes::kNewest) out.append(" wait=newest");
  if (data.left_to) out.append(" left_to=").append(std::to_string(*data.left_to));
  if (data.at_least > Duration(0)) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(data.at_least).count();
    out.append(" at_least_ms=").append(std::to_string(ms));
  }
  if (!data.command.empty()) out.append(" command=").append(percent(data.command));
  if (!data.reason.empty()) out.append(" reason=").append(percent(data.reason));
  return out;
}

std::optional<HolderRecord> decode_record(std::string_view line) {
  if (!line.starts_with(kOurs)) return std::nullopt;
  line.remove_prefix(kOurs.size());
  std::map<std::string, std::string, std::less<>> fields;
  while (!line.empty()) {
    std::string_view value = cut(line, ' ');
    if (value.find('=') == std::string_view::npos) continue;
    const std::string_view name = cut(value, '=');
    fields.emplace(name, plain(value));
  }
  if (text(fields, "owner").empty()) return std::nullopt;
  const std::string wait = text(fields, "wait");
  return HolderRecord{text(fields, "owner"),
                      text(fields, "host"),
                      number(fields, "pid"),
                      text(fields, "user"),
                      mode_of(text(fields, "mode")),
                      static_cast<int>(amount(fields, "permits", std::numeric_limits<int>::max())),
                      std::chrono::milliseconds(amount(fields, "delay_ms", kLongestDelay.count())),
                      text(fields, "reason"),
                      text(fields, "slot"),
                      text(fields, "ended") == "1",
                      text(fields, "freed_by"),
                      fields.contains("left_to") ? std::optional(number(fields, "left_to")) : std::nullopt,
                      text(fields, "command"),
                      text(fields, "heard") == "1",
                      std::chrono::milliseconds(amount(fields, "at_least_ms", kLongestDelay.count())),
                      text(fields, "revoked_by"),
                      wait == "replace"  ? Supersedes::kReplace
                      : wait == "newest" ? Supersedes::kNewest
                                         : Supersedes::kNothing};
}

bool asks_to_release(std::string_view data) { return data == "__REVOKE__" || data == "unlock"; }

}  // namespace dlock::zookeeper
