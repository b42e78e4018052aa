// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/config.h"

#include "cmd/show/exit_status.h"

namespace dlock {
namespace {

int check_status(const Options& options) {
  if (!options.mistakes.empty()) return exit_status(options.mistakes.front().code);
  return options.strict && !options.warnings.empty() ? exit_status(ErrorCode::kMisconfigured) : 0;
}

}  // namespace

int config_command(const Options& options, const Runtime& runtime, Output& out) {
  if (options.words.front() == "show") return print(out, runtime.log, config_text(options));
  const int status = check_status(options);
  if (options.json || status == 0) return print(out, runtime.log, config_check_text(options), status);
  for (const Error& mistake : options.mistakes) runtime.log.error(mistake);
  if (options.mistakes.empty()) {
    runtime.log.error({ErrorCode::kMisconfigured, "there are warnings, and --strict makes them mistakes"});
  }
  return status;
}

}  // namespace dlock
