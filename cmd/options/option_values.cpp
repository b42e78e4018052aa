// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_values.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

#include "cmd/options/command_table.h"
#include "cmd/options/usage_error.h"
#include "lib/base/text.h"
#include "lib/config/duration_text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr std::string_view kOnLostForms = "term, kill, ignore, or signal:SIG such as signal:USR1";

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
  auto after = parse_duration(text.substr(0, equals));
  if (!after) return after.error();
  if (equals == std::string_view::npos) return WarnHeld{*after, std::nullopt};
  auto status = parse_number(text.substr(equals + 1), 0, 255);
  if (!status) return status.error();
  return WarnHeld{*after, static_cast<int>(*status)};
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
  if (text == "ignore") return OnLost{OnLost::Kind::kIgnore};
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
  for (const std::string_view one : {"term", "kill", "ignore", "signal:"}) nearest.offer(one);
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

Result<std::string> parse_file(std::string_view text) {
  if (text.empty()) return invalid("the name of the file is empty", "name a file, or leave the option out");
  return std::string(text);
}

Result<void> check_report(std::string_view text) {
  if (text.empty()) return invalid("the file is empty", "write a file name, or fd:N");
  constexpr std::string_view kDescriptor = "fd:";
  if (!text.starts_with(kDescriptor)) return {};
  if (parse_number(text.substr(kDescriptor.size()), 0, 1 << 20)) return {};
  return invalid(in_quotes(text) + " is not a descriptor", "write for example fd:3, or ./fd:3 for a file of that name");
}

}  // namespace dlock
