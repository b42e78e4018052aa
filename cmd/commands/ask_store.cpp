// SPDX-License-Identifier: Apache-2.0
// The commands that ask a store for one thing: check, ping, gc, setup, __servers.
#include <cstdio>

#include "cmd/commands/commands.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "lib/base/human_text.h"
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

int ping_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto took = backend.ping();
  if (!took) return fail(runtime.log, took.error());
  if (options.json) {
    JsonWriter json;
    json.begin_object().key("schema").text("dlock.ping/2").key("store").text(backend.store());
    json.key("round_trip_ms").ms(*took).end_object();
    return print(out, runtime.log, json.line());
  }
  char ms[40];
  std::snprintf(ms, sizeof ms, "%.2f ms", std::chrono::duration<double, std::milli>(*took).count());
  return print(out, runtime.log, "dlock: " + backend.store() + " answered in " + ms + '\n');
}

int gc_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto swept = backend.collect_garbage(options.dry_run);
  if (!swept) return fail(runtime.log, swept.error());
  std::string text;
  for (const Swept& one : *swept) {
    if (options.json) {
      JsonWriter json;
      json.begin_object().key("schema").text("dlock.gc/2").key("key").text(one.name.text());
      json.key("store").text(backend.store()).key("what").text(one.what);
      json.key("dry_run").boolean(options.dry_run).end_object();
      text += json.line();
    } else {
      text += (options.dry_run ? "would sweep " : "swept ") + one.name.text() + ": " + printable(one.what) + '\n';
    }
  }
  if (swept->empty() && !options.json) text = "nothing to sweep in " + backend.store() + '\n';
  return print(out, runtime.log, text);
}

int setup_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  auto text = backend.set_up(options.print);
  if (!text) return fail(runtime.log, text.error());
  if (options.json) {
    JsonWriter json;
    json.begin_object().key("schema").text("dlock.setup/2").key("store").text(backend.store());
    json.key("print").boolean(options.print).key("text").text_or_null(*text).end_object();
    return print(out, runtime.log, json.line());
  }
  return print(out, runtime.log, text->empty() ? backend.store() + " needs no setup\n" : *text);
}

int servers_command(const Options& /*options*/, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto servers = backend.servers();
  if (!servers) return fail(runtime.log, servers.error());
  std::string text;
  for (const ServerPlace& server : *servers) text += server.name + ' ' + server.place + '\n';
  return print(out, runtime.log, text);
}

}  // namespace dlock
