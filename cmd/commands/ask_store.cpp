// SPDX-License-Identifier: Apache-2.0
// The commands that ask a store for one thing: check, fence, ping, gc, setup.
#include "cmd/commands/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "cmd/wiring/compose.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/base/memory_limit.h"
#include "lib/base/system_error.h"
#include "lib/run/child_process.h"

namespace dlock {
namespace {

/// A token that is lost because of a mistyped KEY says so.
Result<void> explained(Result<void> checked, const LockName& key, LockAdmin& backend) {
  if (checked || checked.error().code != ErrorCode::kLost) return checked;
  const auto state = backend.inspect(key);
  if (!state) return checked;
  Error error = checked.error();
  if (const std::string why = why_free_text(*state, backend); !why.empty()) error.message = key.text() + ": " + why;
  return error;
}

/// The schema of an answer about a token, and the names of the lock and of the answer in it.
struct TokenAnswer {
  const char* schema;
  const char* lock;
  const char* answer;
};

/// Lost is an answer; all else is a failure.
int say_token_answer(const TokenAnswer& names, const Result<void>& answer, const Options& options, LockAdmin& backend,
                     const Runtime& runtime, Output& out) {
  const int status = answer ? 0 : fail(runtime.log, answer.error());
  if (!options.json || (!answer && answer.error().code != ErrorCode::kLost)) return status;
  JsonWriter json(names.schema);
  json.field(names.lock, options.keys.front().text()).field("store", backend.store());
  json.field("token", options.token->value()).field(names.answer, static_cast<bool>(answer));
  return print(out, runtime.log, json.end_object().line(), status);
}

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
  log.error({ErrorCode::kInvalid, program.why, "the token was not checked"});
  return program.exit_status;
}

}  // namespace

int check_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const LockName& key = options.keys.front();
  return say_token_answer({"dlock.check/2", "key", "valid"},
                          explained(backend.check(key, *options.token), key, backend), options, backend, runtime, out);
}

int fence_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const std::vector<char*> command = command_line(options);
  if (!command.empty()) {
    const Program program = find_program(command.front(), getenv("PATH"));
    if (program.exit_status != 0) return refuse_program(program, runtime.log);
  }
  const auto passed = backend.fence(options.keys.front(), *options.token, plan_wait(options).from(runtime.clock.now()));
  if (passed && !command.empty()) return exec_command(command, *passed, runtime.log);
  if (!passed && passed.error().code == ErrorCode::kBusy) {
    fail(runtime.log, passed.error());
    return options.conflict_exit_code;
  }
  return say_token_answer({"dlock.fence/2", "resource", "passed"}, passed ? Result<void>() : passed.error(), options,
                          backend, runtime, out);
}

int ping_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto took = backend.ping();
  if (!took) return fail(runtime.log, took.error());
  if (options.json) {
    JsonWriter json("dlock.ping/2");
    json.field("store", backend.store()).key("round_trip_ms").ms(*took);
    return print(out, runtime.log, json.end_object().line());
  }
  char ms[40];
  std::snprintf(ms, sizeof ms, "%.2f ms", std::chrono::duration<double, std::milli>(*took).count());
  return print(out, runtime.log, "dlock: " + backend.store() + " answered in " + ms + '\n');
}

int gc_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto swept = backend.collect_all_garbage(options.dry_run);
  if (!swept) return fail(runtime.log, swept.error());
  std::string text;
  for (const Swept& one : *swept) {
    if (options.json) {
      JsonWriter json("dlock.gc/2");
      json.field("key", std::string(one.name.key()));
      if (one.name.is_slot()) json.field("slot", std::string(one.name.slot()));
      json.field("store", backend.store()).field("what", one.what);
      text += json.field("dry_run", options.dry_run).end_object().line();
    } else {
      text += (options.dry_run ? "would sweep " : "swept ") + printable(one.name.spoken()) + ": " +
              printable(one.what) + '\n';
    }
  }
  if (swept->empty() && !options.json) text = "nothing to sweep in " + backend.store() + '\n';
  return print(out, runtime.log, text);
}

int setup_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  auto text = backend.set_up(options.print);
  if (!text) return fail(runtime.log, text.error());
  if (options.json) {
    JsonWriter json("dlock.setup/2");
    json.field("store", backend.store()).field("print", options.print).field("text", *text);
    return print(out, runtime.log, json.end_object().line());
  }
  return print(out, runtime.log, text->empty() ? backend.store() + " needs no setup\n" : *text);
}

}  // namespace dlock
