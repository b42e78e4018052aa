// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_reader.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "cmd/options/command_table.h"
#include "cmd/options/settings.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/config/duration_text.h"
#include "lib/config/suggest.h"
#include "lib/history/moment.h"

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

const Setting* OptionReader::find(const OptionRow& row) const {
  const Setting* setting = look_up(row);
  return setting != nullptr && acts_in(command_, row, *setting) ? setting : nullptr;
}

const Setting* OptionReader::find_typed(const OptionRow& row) const {
  const Setting* setting = find(row);
  return setting != nullptr && setting->origin.layer == Origin::Layer::kFlag ? setting : nullptr;
}

const Setting* OptionReader::look_up(const OptionRow& row) const {
  const Setting* general = config_.find(config_section(row), config_key(row));
  const bool overridden = general != nullptr && general->origin.layer != Origin::Layer::kFile;
  if (overridden) return general;
  const Setting* special = (row.config & kInKey) != 0 ? config_.find(key_, row.name) : nullptr;
  if (special == nullptr && (row.config & kInBackend) != 0 && !backend_.empty())
    special = config_.find(backend_, config_key(row));
  return special != nullptr ? special : general;
}

void OptionReader::read(Options& options) const {
  for (const OptionRow& row : option_rows()) {
    const Setting* setting = row.read == nullptr ? nullptr : look_up(row);
    if (setting == nullptr) continue;
    const bool acts = acts_in(command_, row, *setting);
    auto read = row.read(row, *setting, acts ? &options : nullptr);
    if (read) continue;
    Error& mistake = options.mistakes.emplace_back(at(*setting, std::move(read).error()));
    const std::string& spelled = setting->origin.where;
    const bool typed = setting->origin.layer == Origin::Layer::kFlag;
    if (typed && is_word_taken(row, setting->value()))
      mistake.next = spelled + " took " + in_quotes(setting->value()) + " as its value: write " + spelled + " " +
                     std::string(row.value.name);
    if (typed && mistake.next.empty())
      mistake.next =
          "what it is for: " +
          ((row.rare & bit(command_)) != 0 ? "man dlock" : "dlock help " + std::string(command_row(command_).name));
  }
  for (const OptionRow& row : option_rows()) check_others(row, options);
}

void OptionReader::check_others(const OptionRow& row, Options& options) const {
  const bool free = row.excludes[0].id == OptionId::kNone && row.needs[0].id == OptionId::kNone;
  const Setting* typed = free ? nullptr : find_typed(row);
  if (typed == nullptr) return;
  const std::string& spelled = typed->origin.where;
  for (const OtherOption& other : row.excludes) {
    const Setting* beside = other.id == OptionId::kNone ? nullptr : find_typed(other.id);
    if (beside == nullptr) continue;
    options.mistakes.push_back(
        usage_error(spelled + " and " + beside->origin.where + " exclude each other", std::string(other.next)));
  }
  const OtherOption& needed = row.needs[0];
  const auto is_there = [this](const OtherOption& other) { return other.id != OptionId::kNone && find(other.id); };
  if (needed.id == OptionId::kNone || std::any_of(std::begin(row.needs), std::end(row.needs), is_there)) return;
  options.mistakes.push_back(usage_error(
      spelled + " means nothing without --" + std::string(option_row(needed.id).name), std::string(needed.next)));
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

Result<std::int64_t> parse_choice(std::string_view text, std::string_view choices) {
  std::int64_t at = 0;
  std::int64_t found = -1;
  Nearest nearest(text);
  for_each_word(choices, [&](std::string_view choice) {
    if (choice == text) found = at;
    nearest.offer(choice);
    ++at;
  });
  if (found >= 0) return found;
  return invalid(in_quotes(text) + " is not one of " + std::string(choices), did_you_mean(nearest.best()));
}

Result<std::int64_t> parse_whole(const OptionRow& row, std::string_view text) {
  if (row.value.kind != ValueKind::kChoice) return parse_number(text, row.value.least, row.value.most);
  return parse_choice(text, row.value.name);
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

Result<Duration> parse_limited(std::string_view text, Duration least, Duration most) {
  TRY_ASSIGN(const Duration duration, parse_duration(text));
  if (duration < least) return invalid(in_quotes(text) + " is too short: " + spell_duration(least) + " or more", "");
  if (duration > most) return invalid(in_quotes(text) + " is too long: at most " + spell_duration(most), "");
  return duration;
}

Result<std::string> parse_report(std::string_view text) {
  if (text.empty()) return invalid("the file is empty", "write a file name, or fd:N");
  constexpr std::string_view kDescriptor = "fd:";
  const bool named = !text.starts_with(kDescriptor);
  if (named || parse_number(text.substr(kDescriptor.size()), 0, 1 << 20)) return std::string(text);
  return invalid(in_quotes(text) + " is not a descriptor", "write for example fd:3, or ./fd:3 for a file of that name");
}

Result<WallTime> parse_past(std::string_view text) { return parse_moment(text, SystemClock().wall()); }

Result<Quantity> parse_stock_size(std::string_view text) { return parse_quantity(text, 0); }

Result<Quantity> parse_items(std::string_view text) { return parse_quantity(text); }

Result<LockName> parse_request_id(std::string_view text) {
  auto id = LockName::parse(text);
  if (id) return id;
  return invalid("not a valid id: " + id.error().message,
                 "an id is 1 to 255 bytes of UTF-8 without control characters");
}

Result<void> events(const OptionRow& /*row*/, const Setting& setting, Options* options) {
  const bool typed = setting.origin.layer == Origin::Layer::kFlag;
  TRY_ASSIGN(auto place, typed ? parse_open_event_place(setting.value()) : parse_event_place(setting.value()));
  if (options != nullptr) options->events = std::move(place);
  return {};
}

}  // namespace dlock
