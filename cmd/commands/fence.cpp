// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "cmd/show/exit_status.h"
#include "cmd/wiring/compose.h"
#include "lib/base/json_writer.h"
#include "lib/base/memory_limit.h"
#include "lib/base/system_error.h"
#include "lib/run/child_process.h"

namespace dlock {
namespace {

/// Only comes back to say why it could not.
int exec_command(const std::vector<char*>& command, const UniqueFd& kept_out, const Log& log) {
  if (kept_out.valid() && fcntl(kept_out.get(), F_SETFD, 0) != 0) {
    return fail(log, system_error("cannot pass the fence to the command", errno));
  }
  lift_memory_limit();
  execvp(command.front(), command.data());
  const int errnum = errno;
  log.error({ErrorCode::kSystem, "cannot run '" + std::string(command.front()) + "': " + errno_text(errnum)});
  return errnum == ENOENT ? kExitNotFound : kExitNotExecutable;
}

/// Found out before the token counts as seen.
int refuse_program(const Program& program, const Log& log) {
  log.error({ErrorCode::kInvalid, "cannot run '" + program.path + "': " + program.why, "the token was not checked"});
  return program.exit_status;
}

}  // namespace

int fence_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const LockName& resource = options.keys.front();
  const FencingToken& token = *options.token;
  const std::vector<char*> command = command_line(options);
  if (!command.empty()) {
    const Program program = find_program(command.front(), getenv("PATH"));
    if (program.exit_status != 0) return refuse_program(program, runtime.log);
  }
  const auto passed = backend.fence(resource, token, wait_policy(options, runtime.clock.now()));
  if (passed && !command.empty()) return exec_command(command, *passed, runtime.log);
  if (!passed && passed.error().code == ErrorCode::kBusy) {
    fail(runtime.log, passed.error());
    return options.conflict_exit_code;
  }
  if (!passed && passed.error().code != ErrorCode::kLost) return fail(runtime.log, passed.error());
  const int status = passed ? 0 : fail(runtime.log, passed.error());
  if (!options.json) return status;
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.fence/2").key("resource").text(resource.text());
  json.key("store").text(backend.store()).key("token").number(static_cast<std::int64_t>(token.value()));
  json.key("passed").boolean(static_cast<bool>(passed)).end_object();
  return print(out, runtime.log, json.line(), status);
}

}  // namespace dlock
