// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <algorithm>

#include "cmd/show/exit_status.h"
#include "cmd/wiring/compose.h"

namespace dlock {
namespace {

int check_status(const Options& options) {
  if (!options.mistakes.empty()) return exit_status(options.mistakes.front().code);
  return options.strict && !options.warnings.empty() ? exit_status(ErrorCode::kMisconfigured) : 0;
}

/// No mistake in a file that several machines share, some of which need not have each store.
Options with_missing_packages(Options options, const Log& log) {
  for (const BackendUrl& url : options.configured) {
    const auto missing = not_installed(url);
    if (!missing) continue;
    const std::string warning = missing->message + "; " + missing->next;
    if (std::find(options.warnings.begin(), options.warnings.end(), warning) != options.warnings.end()) continue;
    log.warn(warning);
    options.warnings.push_back(warning);
  }
  return options;
}

}  // namespace

int config_command(const Options& given, const Runtime& runtime, Output& out) {
  if (given.words.front() == "show") return print(out, runtime.log, config_text(given));
  const Options options = with_missing_packages(given, runtime.log);
  const int status = check_status(options);
  if (options.json || status == 0) return print(out, runtime.log, config_check_text(options), status);
  for (const Error& mistake : options.mistakes) runtime.log.error(mistake);
  if (options.mistakes.empty()) {
    runtime.log.error({ErrorCode::kMisconfigured, "there are warnings, which --strict treats as errors"});
  }
  return status;
}

}  // namespace dlock
