// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/check.h"

#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "lib/base/json_writer.h"

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

}  // namespace

int check_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const LockName& key = options.keys.front();
  const FencingToken& token = *options.token;
  const auto valid = explained(backend.check(key, token), key, backend);
  if (!valid && valid.error().code != ErrorCode::kLost) return fail(runtime.log, valid.error());
  const int status = valid ? 0 : fail(runtime.log, valid.error());
  if (!options.json) return status;
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.check/2").key("key").text(key.text());
  json.key("store").text(backend.store()).key("token").number(static_cast<std::int64_t>(token.value()));
  json.key("valid").boolean(static_cast<bool>(valid)).end_object();
  return print(out, runtime.log, json.line(), status);
}

}  // namespace dlock
