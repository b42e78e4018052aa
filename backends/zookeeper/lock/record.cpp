// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/record.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "lib/base/user_name.h"
#include "lib/config/duration_text.h"

namespace dlock::zookeeper {
namespace {

constexpr char kEscapeDigits[] = "0123456789ABCDEF";
constexpr std::string_view kOurs = "dlock ";
constexpr auto kLongestDelay = std::chrono::floor<std::chrono::milliseconds>(kLongestDuration);

std::string percent(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7f && byte != '%') out += c;
    else out.append({'%', kEscapeDigits[byte >> 4], kEscapeDigits[byte & 15]});
  }
  return out;
}

std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* hex = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(hex, hex + 2, byte, 16).ptr == hex + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::int64_t number(const std::map<std::string, std::string, std::less<>>& fields, std::string_view name) {
  const auto found = fields.find(name);
  std::int64_t value = 0;
  if (found != fields.end()) std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
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
  return {spec.owner.text(), machine.nodename, getppid(), user_name(geteuid()), spec.mode, spec.permits,
          spec.lock_delay,   spec.reason,      false};
}

std::string encode(const HolderRecord& data) {
  std::string out(kOurs);
  out.append("owner=").append(data.owner).append(" host=").append(percent(data.host));
  out.append(" pid=").append(std::to_string(data.pid)).append(" user=").append(percent(data.user));
  out.append(" mode=").append(mode_name(data.mode));
  if (data.permits > 0) out.append(" permits=").append(std::to_string(data.permits));
  if (data.lock_delay > Duration(0)) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(data.lock_delay).count();
    out.append(" delay_ms=").append(std::to_string(ms));
  }
  if (data.ended) out.append(" ended=1");
  if (!data.reason.empty()) out.append(" reason=").append(percent(data.reason));
  return out;
}

std::optional<HolderRecord> decode_record(std::string_view line) {
  if (!line.starts_with(kOurs)) return std::nullopt;
  line.remove_prefix(kOurs.size());
  std::map<std::string, std::string, std::less<>> fields;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) fields.emplace(word.substr(0, equals), plain(word.substr(equals + 1)));
  }
  if (text(fields, "owner").empty()) return std::nullopt;
  return HolderRecord{text(fields, "owner"),
                      text(fields, "host"),
                      number(fields, "pid"),
                      text(fields, "user"),
                      mode_of(text(fields, "mode")),
                      static_cast<int>(amount(fields, "permits", std::numeric_limits<int>::max())),
                      std::chrono::milliseconds(amount(fields, "delay_ms", kLongestDelay.count())),
                      text(fields, "reason"),
                      text(fields, "ended") == "1"};
}

bool asks_to_release(std::string_view data) { return data == "__REVOKE__" || data == "unlock"; }

}  // namespace dlock::zookeeper
