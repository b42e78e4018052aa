// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/hook.h"

namespace dlock {

std::optional<Error> hook_failure(const std::string& phase, int status) {
  if (status == 0) return std::nullopt;
  Error error{ErrorCode::kSystem, "hook " + phase +
                                      (status > 128 ? " was ended by signal " + std::to_string(status - 128)
                                                    : " ended with " + std::to_string(status))};
  if (status != 126 && status != 127) return error;
  return Error{ErrorCode::kMisconfigured,
               error.message + (status == 127 ? ": its command was not found" : ": its command cannot be executed"),
               "--hook is a command of the shell, which gets " + phase + " as its last word"};
}

}  // namespace dlock
