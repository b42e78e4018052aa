// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/renew_release.h"

#include <chrono>

#include "cmd/show/exit_status.h"
#include "cmd/wiring/recorder.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

void record_lease(Event::Kind kind, const std::string& store, FencingToken token, const Options& options,
                  const Runtime& runtime) {
  EventLog log(options.events, runtime.log);
  if (log.is_off()) return;
  Event event = new_event(kind, options.keys.front(), store, options, runtime);
  event.owner = options.owner->text();
  event.token = token.value();
  event.lease = true;
  if (kind == Event::Kind::kRenewed) {
    event.until = event.time + std::chrono::duration_cast<std::chrono::microseconds>(options.ttl);
  }
  log.append(event);
}

}  // namespace

int renew_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const LockName& key = options.keys.front();
  const Owner& owner = *options.owner;
  const auto held = backend.renew(key, owner, options.ttl);
  if (!held) return fail(runtime.log, held.error());
  record_lease(Event::Kind::kRenewed, held->store, held->token, options, runtime);
  if (!options.json) return 0;
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.renew/1").key("key").text(held->name.text());
  json.key("backend").text(held->store).key("owner").text(held->owner.text());
  json.key("token").number_or_null(static_cast<std::int64_t>(held->token.value()));
  json.key("ttl_ms").whole_ms(options.ttl).end_object();
  return print(out, runtime.log, json.line());
}

int release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const LockName& key = options.keys.front();
  const Owner& owner = *options.owner;
  const auto released = backend.release(key, owner);
  if (released) record_lease(Event::Kind::kReleased, backend.store(), {}, options, runtime);
  const bool was_lost = !released && released.error().code == ErrorCode::kLost;
  if (!released && !(was_lost && options.if_held)) return fail(runtime.log, released.error());
  if (!options.json) return 0;
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.release/1").key("key").text(key.text());
  json.key("backend").text(backend.store()).key("owner").text(owner.text());
  json.key("released").boolean(!was_lost).end_object();
  return print(out, runtime.log, json.line());
}

}  // namespace dlock
