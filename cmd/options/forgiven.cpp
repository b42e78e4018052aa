// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/forgiven.h"

#include <algorithm>

#include "cmd/options/command_table.h"
#include "cmd/options/settings.h"

namespace dlock {

bool goes_on_with_mistakes(const Arguments& arguments) {
  constexpr CommandSet kLookAndFree = bit(Command::kInspect) | bit(Command::kForceRelease) | bit(Command::kCheck) |
                                      bit(Command::kRevoke) | bit(Command::kRelease) | bit(Command::kHistory) |
                                      bit(Command::kMetrics) | bit(Command::kDoctor) | bit(Command::kConfig) |
                                      bit(Command::kComplete);
  return (bit(arguments.command) & kLookAndFree) != 0 && !finds_all_mistakes(arguments);
}

std::optional<Error> hidden_backend(const Config& config) {
  const OptionRow& row = option_row(OptionId::kBackend);
  const Setting* named = config.find(config_section(row), config_key(row));
  const bool typed = named != nullptr && named->origin.layer != Origin::Layer::kFile;
  if (typed || !config.hides_backend()) return std::nullopt;
  Error error = config.mistakes().front();
  error.next += std::string(error.next.empty() ? "" : "; ") +
                "until then name the store with --backend URL: that line may be the one that does";
  return error;
}

const Error* typed_mistake(const Options& options) {
  const auto typed = [](const Error& mistake) { return mistake.code != ErrorCode::kMisconfigured; };
  const auto found = std::find_if(options.mistakes.begin(), options.mistakes.end(), typed);
  return found == options.mistakes.end() ? nullptr : &*found;
}

void tell_of_mistakes(Options& options) {
  std::vector<Error>& mistakes = options.mistakes;
  mistakes.insert(mistakes.begin(), options.config.mistakes().begin(), options.config.mistakes().end());
  if (options.command == Command::kDoctor) return;
  for (const Error& mistake : mistakes) {
    options.warnings.push_back(mistake.message + " (left out)" + (mistake.next.empty() ? "" : "; ") + mistake.next);
  }
}

}  // namespace dlock
