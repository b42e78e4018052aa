// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <signal.h>

#include <cerrno>
#include <chrono>

#include "cmd/show/contention.h"
#include "cmd/show/exit_status.h"
#include "cmd/wiring/recorder.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

/// A server that has answered, or was cut off, before that is worth a second look; one that is gone is not.
constexpr Duration kSoon = std::chrono::seconds(1);

/// A run that has ended, whose --at-least is what holds the lock: where the store cannot say it, known only where it
/// ran.
bool is_over_and_kept(const Participant& participant, WallTime now) {
  if (!participant.ran.empty()) return true;
  const bool here = participant.host == this_process().host;
  return kept_until(participant, now) && here && kill(static_cast<pid_t>(participant.pid), 0) != 0 && errno == ESRCH;
}

/// Only the process itself may end its hold, or make that shorter than it believes: others would be granted
/// it beside the command. What a keeper holds for a watched process may be given back.
Result<void> check_is_lease(LockAdmin& backend, const Options& options, const Runtime& runtime, bool watched_is_one) {
  const LockName& key = options.keys.front();
  const TimePoint began = runtime.clock.now();
  auto state = backend.inspect(key);
  const bool cut_off = !state && state.error().code == ErrorCode::kUnavailable && runtime.clock.now() - began < kSoon;
  if (cut_off) state = backend.inspect(key);
  if (!state) return state.error();
  for (const Participant& participant : state->holders) {
    const bool is_lease = participant.lease && (watched_is_one || options.backends.front().is_local());
    if (participant.owner != options.owner->text() || participant.pid <= 0 || is_lease) continue;
    if (is_over_and_kept(participant, runtime.clock.wall())) continue;
    const std::string pid = "(pid " + std::to_string(participant.pid) + ")";
    if (participant.lease) {
      return Error{ErrorCode::kUnsupported, key.text() + " is kept until the process that is watched " + pid + " ends",
                   "it needs no renewal"};
    }
    return Error{ErrorCode::kUnsupported, key.text() + " is held by a running process " + pid + ", not by a lease",
                 "end that process, or: dlock force-release " + key.typed()};
  }
  return {};
}

}  // namespace

int renew_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const LockName& key = options.keys.front();
  const Owner& owner = *options.owner;
  if (const auto lease = check_is_lease(backend, options, runtime, false); !lease)
    return fail(runtime.log, lease.error());
  const auto held = backend.renew(key, owner, options.ttl);
  if (!held) return fail(runtime.log, held.error());
  record_lease(Event::Kind::kRenewed, held->store, owner.text(), held->token, options, runtime);
  if (!options.json) return 0;
  JsonWriter json("dlock.renew/2");
  json.field("key", held->name.text()).field("store", held->store).field("owner", held->owner.text());
  json.key("token").number_or_null(static_cast<std::int64_t>(held->token.value()));
  json.key("ttl_ms").whole_ms(options.ttl).end_object();
  return print(out, runtime.log, json.line());
}

namespace {

int say_released(const std::string& owner, bool released, const Options& options, const LockAdmin& backend,
                 const Runtime& runtime, Output& out) {
  if (!options.json) return 0;
  JsonWriter json("dlock.release/2");
  const LockName& name = options.keys.front();
  json.field("key", std::string(name.key()));
  if (name.is_slot()) json.field("slot", std::string(name.slot()));
  json.field("store", backend.store()).field("owner", owner);
  return print(out, runtime.log, json.field("released", released).end_object().line());
}

/// `release --slot`: the key is that of the slot. What has run may run again.
int forget_slot(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const LockName& slot = options.keys.front();
  const auto known = backend.forget(slot);
  const bool was_unknown = !known && known.error().code == ErrorCode::kLost;
  if (!known && !(was_unknown && options.if_held)) return fail(runtime.log, known.error());
  const std::string owner = known ? known->owner : std::string();
  if (known) record_lease(Event::Kind::kReleased, backend.store(), owner, {}, options, runtime);
  return say_released(owner, !was_unknown, options, backend, runtime, out);
}

}  // namespace

int release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  if (!options.slot.empty()) return forget_slot(options, backend, runtime, out);
  const LockName& key = options.keys.front();
  const Owner& owner = *options.owner;
  if (const auto lease = check_is_lease(backend, options, runtime, true); !lease)
    return fail(runtime.log, lease.error());
  const auto released = backend.release(key, owner);
  if (released) record_lease(Event::Kind::kReleased, backend.store(), owner.text(), {}, options, runtime);
  const bool was_lost = !released && released.error().code == ErrorCode::kLost;
  if (!released && !(was_lost && options.if_held)) return fail(runtime.log, released.error());
  return say_released(owner.text(), !was_lost, options, backend, runtime, out);
}

}  // namespace dlock
