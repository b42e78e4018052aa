// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/record.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>

#include "lib/base/text.h"
#include "lib/base/users.h"
#include "lib/config/duration_text.h"

namespace dlock::zookeeper {
namespace {

constexpr std::string_view kOurs = "dlock";
constexpr const char* kWaits[] = {"", "replace", "newest"};  // by Supersedes

/// What a node says, in this order (lib/base/fields.h).
template <MaybeConst<HolderRecord> Any, typename Visitor>
void visit_fields(Any& record, Visitor& visit) {
  visit("owner", record.owner);
  visit("host", record.host);
  visit("pid", record.pid);
  visit("user", record.user);
  visit("mode", record.mode);
  visit("permits", record.permits);
  visit("slot", record.slot);
  visit("delay", record.lock_delay);
  visit("revoked_by", record.revoked);
  visit("wait", record.supersedes);
  visit("left_to", record.left_to);
  visit("at_least", record.at_least);
  visit("lasts", record.lasts);
  visit("token", record.token);
  visit("command", record.command);
  visit("reason", record.reason);
}

/// Leaves out what is not set. Durations are ms, which their names say.
struct RecordWriter {
  std::string line{kOurs};

  void operator()(const std::string& name, const std::string& value) {
    if (!value.empty()) line.append(" ").append(name).append("=").append(percent(value));
  }
  void operator()(const char* name, std::int64_t number) {
    if (number != 0) (*this)(name, std::to_string(number));
  }
  void operator()(const char* name, std::optional<std::int64_t> number) {
    if (number) (*this)(name, std::to_string(*number));
  }
  void operator()(const std::string& name, Duration time) {
    (*this)((name + "_ms").c_str(), std::chrono::ceil<std::chrono::milliseconds>(time).count());
  }
  void operator()(const char* name, FencingToken token) {
    if (!token.is_none()) (*this)(name, token.text());
  }
  void operator()(const char* name, Mode mode) { (*this)(name, std::string(mode_name(mode))); }
  void operator()(const char* name, Supersedes kind) { (*this)(name, std::string(kWaits[static_cast<int>(kind)])); }

  static std::string percent(std::string_view text) {
    return percent_escaped(text, [](unsigned char c) { return c > 0x20 && c != 0x7f && c != '%'; });
  }
};

/// Any client may write a node: what is missing is as in a new record, numbers beyond every limit are cut to one that
/// can be reckoned with, and text that is not one of our escapes stays as it is.
class RecordReader {
 public:
  explicit RecordReader(std::string_view line) {
    while (!line.empty()) {
      std::string_view value = cut(line, ' ');
      if (value.find('=') == std::string_view::npos) continue;
      const std::string_view name = cut(value, '=');
      fields_.emplace(name, percent_unescaped(value).value_or(std::string(value)));
    }
  }

  void operator()(const char* name, std::string& text) { text = fields_[name]; }
  void operator()(const char* name, std::int64_t& number) { number = leading_number<std::int64_t>(fields_[name]); }
  void operator()(const char* name, std::optional<std::int64_t>& number) {
    if (fields_.contains(name)) (*this)(name, number.emplace());
  }
  void operator()(const char* name, int& number) { number = static_cast<int>(amount(name, INT_MAX)); }
  void operator()(const std::string& name, Duration& time) {
    using std::chrono::milliseconds;
    time = milliseconds(amount(name + "_ms", std::chrono::floor<milliseconds>(kLongestDuration).count()));
  }
  void operator()(const char* name, FencingToken& token) {
    if (const auto number = FencingToken::parse(fields_[name])) token = *number;
  }
  void operator()(const char* name, Mode& mode) { mode = by_name(fields_[name], mode, mode_name); }
  void operator()(const char* name, Supersedes& kind) {
    kind = by_name(fields_[name], kind, [](Supersedes one) { return kWaits[static_cast<int>(one)]; });
  }

 private:
  std::int64_t amount(const std::string& name, std::int64_t most) {
    return std::clamp<std::int64_t>(leading_number<std::int64_t>(fields_[name]), 0, most);
  }
  template <typename Enum, typename NameOf>
  static Enum by_name(const std::string& name, Enum otherwise, NameOf name_of) {
    for (int i = 0; i <= static_cast<int>(last_of(Enum())); ++i) {
      if (name == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
    }
    return otherwise;
  }

  std::map<std::string, std::string, std::less<>> fields_;
};

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
  RecordWriter writer;
  visit_fields(data, writer);
  return writer.line;
}

std::optional<HolderRecord> decode_record(std::string_view line) {
  if (cut(line, ' ') != kOurs) return std::nullopt;
  RecordReader reader(line);
  HolderRecord data;
  visit_fields(data, reader);
  return data.owner.empty() ? std::nullopt : std::optional(std::move(data));
}

bool asks_to_release(std::string_view data) { return data == "__REVOKE__" || data == "unlock"; }

}  // namespace dlock::zookeeper
