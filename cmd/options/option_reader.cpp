// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_reader.h"

#include <csignal>
#include <cstring>

#include "cmd/options/command_table.h"
#include "cmd/options/settings.h"
#include "lib/base/text.h"
#include "lib/config/duration_text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

bool acts_in(Command command, const OptionRow& row, const Setting& setting) {
  if ((row.flag_only & bit(command)) != 0) return setting.origin.layer == Origin::Layer::kFlag;
  const CommandSet seen_by = bit(Command::kConfig) | bit(Command::kDoctor);
  return has_option(command, row) || (seen_by & bit(command)) != 0;
}

constexpr std::string_view kOnLostForms = "term, kill, or signal:SIG such as signal:USR1";

Error invalid(std::string message, std::string next) {
  return {ErrorCode::kInvalid, std::move(message), std::move(next)};
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

/// 0 if there is no such signal.
int signal_number(std::string_view text) {
  if (const auto number = whole_number<int>(text)) return *number >= 1 && *number < NSIG ? *number : 0;
  std::string name = upper(text);
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int number = 1; number < NSIG; ++number) {
    const char* known = sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return 0;
}

std::string nearest_signal(std::string_view text) {
  std::string name = upper(text);
  if (name.starts_with("SIG")) name.erase(0, 3);
  Nearest nearest(name);
  for (int number = 1; number < NSIG; ++number) {
    if (const char* known = sigabbrev_np(number)) nearest.offer(known);
  }
  return std::string(nearest.best());
}

}  // namespace

const Setting* OptionReader::find(OptionId id) const {
  const Setting* setting = look_up(id);
  return setting != nullptr && acts_in(command_, option_row(id), *setting) ? setting : nullptr;
}

const Setting* OptionReader::look_up(OptionId id) const {
  const OptionRow& row = option_row(id);
  const Setting* general = config_.find(config_section(row), config_key(row));
  const bool overridden = general != nullptr && general->origin.layer != Origin::Layer::kFile;
  if (overridden) return general;
  const Setting* special = (row.config & kInKey) != 0 ? config_.find(key_, row.name) : nullptr;
  if (special == nullptr && (row.config & kInBackend) != 0 && !backend_.empty())
    special = config_.find(backend_, config_key(row));
  return special != nullptr ? special : general;
}

bool OptionReader::given_by_flag(OptionId id) const {
  const Setting* setting = find(id);
  return setting != nullptr && setting->origin.layer == Origin::Layer::kFlag;
}

Result<void> OptionReader::read(OptionId id, Duration least, Duration& out) const {
  return read_with(
      id,
      [least](std::string_view text) -> Result<Duration> {
        auto duration = parse_duration(text);
        if (duration && *duration < least) {
          return Error{ErrorCode::kInvalid,
                       "'" + std::string(text) + "' is too short: " + spell_duration(least) + " or more"};
        }
        return duration;
      },
      out);
}

Result<void> OptionReader::read(OptionId id, std::int64_t least, std::int64_t most, int& out) const {
  return read_with(
      id,
      [least, most](std::string_view text) -> Result<int> {
        TRY_ASSIGN(auto number, parse_number(text, least, most));
        return static_cast<int>(number);
      },
      out);
}

Result<void> OptionReader::read(OptionId id, bool& out) const { return read_with(id, parse_flag, out); }

Result<void> OptionReader::read(OptionId id, std::string& out) const {
  if (const Setting* setting = find(id)) out = setting->value();
  return {};
}

Result<int> OptionReader::read_choice_number(OptionId id, int otherwise) const {
  const Setting* setting = look_up(id);
  if (setting == nullptr) return otherwise;
  auto number = parse_choice(setting->value(), option_row(id).value.name);
  if (number) return find(id) != nullptr ? *number : otherwise;
  TRY(refuse(at(*setting, number.error())));
  return otherwise;
}

Result<void> OptionReader::refuse(Error error) const {
  if (mistakes_ == nullptr) return error;
  mistakes_->push_back(std::move(error));
  return {};
}

Error OptionReader::at(const Setting& setting, Error error) {
  const bool file = setting.origin.layer == Origin::Layer::kFile;
  if (file) error.code = ErrorCode::kMisconfigured;
  error.message = setting.origin.position() + ": " + (file ? setting.key + ": " : std::string()) + error.message;
  return error;
}

Result<std::int64_t> parse_number(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = whole_number<std::int64_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  return invalid(in_quotes(text) + " is not a number from " + std::to_string(least) + " to " + std::to_string(most),
                 "");
}

Result<int> parse_choice(std::string_view text, std::string_view choices) {
  int at = 0;
  int found = -1;
  Nearest nearest(text);
  for_each_word(choices, [&](std::string_view choice) {
    if (choice == text) found = at;
    nearest.offer(choice);
    ++at;
  });
  if (found >= 0) return found;
  return invalid(in_quotes(text) + " is not one of " + std::string(choices), did_you_mean(nearest.best()));
}

Result<WarnHeld> parse_warn_held(std::string_view text) {
  const std::size_t equals = text.find('=');
  TRY_ASSIGN(auto after, parse_duration(text.substr(0, equals)));
  if (equals == std::string_view::npos) return WarnHeld{after, std::nullopt};
  TRY_ASSIGN(auto status, parse_number(text.substr(equals + 1), 0, 255));
  return WarnHeld{after, static_cast<int>(status)};
}

Result<std::string> parse_reason(std::string_view text) {
  constexpr std::size_t kMost = 256;  // every waiter's is sent to every other
  if (text.size() <= kMost) return std::string(text);
  return Error{ErrorCode::kInvalid,
               "it has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(kMost) + " are allowed",
               "keep it to one line: 80 columns of it are shown"};
}

Result<OnLost> parse_on_lost(std::string_view text) {
  if (text == "term") return OnLost{OnLost::Kind::kTerm};
  if (text == "kill") return OnLost{OnLost::Kind::kKill};
  constexpr std::string_view kSignal = "signal:";
  if (text.starts_with(kSignal)) {
    const std::string_view name = text.substr(kSignal.size());
    if (const int number = signal_number(name); number != 0) return OnLost{OnLost::Kind::kSignal, number};
    const std::string best = nearest_signal(name);
    return invalid(in_quotes(name) + " is not a signal",
                   best.empty() ? "write for example signal:USR1 or signal:10" : did_you_mean("signal:" + best));
  }
  if (signal_number(text) != 0) {
    return invalid(in_quotes(text) + " is not an action for a lost lock", did_you_mean("signal:" + std::string(text)));
  }
  Nearest nearest(text);
  for (const std::string_view one : {"term", "kill", "signal:"}) nearest.offer(one);
  return invalid(in_quotes(text) + " is not an action for a lost lock",
                 did_you_mean(nearest.best(), "the actions are " + std::string(kOnLostForms)));
}

Result<bool> parse_flag(std::string_view text) {
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (text == no) return false;
  }
  return invalid(in_quotes(text) + " is neither true nor false", "");
}

Result<void> check_report(std::string_view text) {
  if (text.empty()) return invalid("the file is empty", "write a file name, or fd:N");
  constexpr std::string_view kDescriptor = "fd:";
  if (!text.starts_with(kDescriptor)) return {};
  if (parse_number(text.substr(kDescriptor.size()), 0, 1 << 20)) return {};
  return invalid(in_quotes(text) + " is not a descriptor", "write for example fd:3, or ./fd:3 for a file of that name");
}

}  // namespace dlock
