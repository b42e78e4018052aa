// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "cmd/options/arguments.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/holder_process.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "cmd/wiring/recorder.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"
#include "lib/run/holder_process.h"

namespace dlock {
namespace {

/// One line of a terminal, without its end; what came before the end of file otherwise.
std::string read_line(int fd) {
  std::string line;
  char c = 0;
  for (;;) {
    const ssize_t n = read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') return line;
    line += c;
  }
}

std::string next_text(const LockState& state) {
  return state.waiters.empty() || state.holders.empty()
             ? ""
             : "next in line: " + participant_text(state.waiters.front()) + '\n';
}

/// Nobody holds it, and a lock-delay keeps others out.
bool is_delayed(const LockState& state) {
  return !state.holders.empty() && std::all_of(state.holders.begin(), state.holders.end(),
                                               [](const Participant& holder) { return is_delay(holder.standing); });
}

/// What will happen to the holders that are shown.
std::string consequence_text(const LockState& state, WallTime now) {
  if (state.holders.empty() || !foreign_data(state).empty()) return {};
  if (is_delayed(state))
    return "this ends its lock-delay: the next holder may run beside a command that has lost it and goes on\n";
  const auto runs = std::find_if_not(state.holders.begin(), state.holders.end(), runs_nothing);
  if (runs == state.holders.end())
    return "it is a lease: nothing that dlock knows of runs under it; a run inside it hears of this at its next "
           "renewal\n";
  if (runs->pid <= 0) return "it is not known whether its holder hears of this: the next holder may run beside it\n";
  const std::string when = runs->until
                               ? "at the latest in " + human_duration(std::max(age(now, *runs->until), Duration(0)))
                               : std::string("within a second");
  const char* const what = runs->command.empty() ? "its dlock gives it up as soon as it hears of this, "
                                                 : "its command gets TERM, or what its --on-lost says, as soon as its "
                                                   "dlock hears of this, ";
  return what + when +
         "; until it has ended, the next holder may run beside it\nto ask it to end first, so that nothing overlaps: "
         "dlock revoke " +
         state.name.typed() + '\n';
}

Result<void> confirm(const LockState& state, const Options& options, const Runtime& runtime, int input) {
  if (options.yes) return {};
  constexpr std::size_t kBelow = 4;  // what will happen, who is next, and the question
  Look look = look_of(runtime.log.fd(), runtime.log.style().colour);
  look.height -= std::min(look.height, kBelow);
  write_all(runtime.log.fd(), inspect_text({state}, runtime.clock.wall(), look));
  const std::string& key = state.name.text();
  if (!isatty(input) || !isatty(runtime.log.fd())) {
    const FencingToken token = state.holders.empty() ? FencingToken() : state.holders.front().token;
    const bool one = state.holders.size() == 1 && !token.is_none() &&
                     !is_pattern(state.name);  // the hold that was shown, and no later one
    return Error{ErrorCode::kInvalid,
                 "force-release of " + key + " must be confirmed, and there is no terminal to ask on",
                 "to free the lock of this holder: dlock force-release --yes " +
                     (one ? "--token " + token.text() + " " : std::string()) + state.name.typed()};
  }
  write_all(runtime.log.fd(),
            consequence_text(state, runtime.clock.wall()) + next_text(state) + "type the key to free it: ");
  const std::string typed = read_line(input);
  if (typed == key) return {};
  return Error{ErrorCode::kInvalid, "'" + printable(typed) + "' is not " + key + ": nothing was freed",
               "to free it, type the key as it is shown"};
}

/// With --token: Busy unless one of the holders has it.
Result<void> expect_token(const LockState& state, const Options& options) {
  if (!options.token || state.holders.empty()) return {};
  for (const Participant& holder : state.holders) {
    if (holder.token == *options.token) return {};
  }
  const Participant& other = state.holders.front();
  return Error{ErrorCode::kBusy,
               state.name.text() + " is no longer held with token " + options.token->text() + ", but with " +
                   other.token.text() + " by " + participant_text(other),
               "nothing was freed; look again: dlock inspect " + state.name.typed()};
}

/// With --foreign-data it is deleted.
std::optional<Error> refuse_data(const LockState& state, const Options& options) {
  const std::string what = foreign_data(state);
  if (what.empty() || options.foreign_data) return std::nullopt;
  Error error = holds_data(state.name, what);
  error.next += "; to delete it anyway: dlock force-release --foreign-data " + state.name.typed();
  return error;
}

struct Freed {
  LockState shown;
  std::vector<Participant> holders;
  std::string remark;  ///< why no hold was freed, if that is worth a word
  std::optional<OldHolders> old = {};
  std::string delay = {};  ///< what keeps others out now
};

std::string freed_text(const Freed& freed, WallTime now) {
  const std::string& key = freed.shown.name.text();
  if (!freed.remark.empty()) return key + ": " + freed.remark + '\n';
  if (freed.holders.empty()) return key + " is already free\n";
  if (const std::string what = foreign_data(freed.shown); !what.empty())
    return key + " is free now; deleted: " + what + '\n';
  if (freed.shown.holders.empty())
    return key + " no longer waits for " + participant_text(freed.holders.front()) +
           (freed.holders.size() > 1 ? " and " + std::to_string(freed.holders.size() - 1) + " more" : "") + '\n';
  if (is_delayed(freed.shown)) return key + " is free now; its lock-delay has ended\n";
  std::string who;
  for (const Participant& participant : freed.holders) {
    who += (who.empty() ? "" : ", ") + participant_text(participant);
    if (participant.since) who += " for " + human_duration(age(*participant.since, now));
  }
  const std::string next = next_text(freed.shown);
  return key + (freed.delay.empty() ? " is free now" : " is freed; " + freed.delay) + "; it was held by " + who + '\n' +
         (next.empty() ? "" : "  " + next);
}

std::string freed_json(const Freed& freed, const std::string& store) {
  JsonWriter json("dlock.force-release/2");
  json.field("key", freed.shown.name.text()).field("store", store);
  put_participants(json, "freed", freed.holders);
  json.key("next");
  if (freed.holders.empty() || freed.shown.waiters.empty()) json.null();
  else put_participant(json, freed.shown.waiters.front());
  return json.end_object().line();
}

/// The lock-delay that a force-release has begun, as a look after it shows it. Best effort.
std::string delay_text(const LockName& name, LockAdmin& backend, Clock& clock) {
  const auto state = backend.inspect(name);
  if (!state || state->holders.empty() || state->holders.front().standing != Standing::kDelayAfterForce) return {};
  const auto& until = state->holders.front().until;
  const Duration left = until ? age(clock.wall(), *until) : Duration(0);
  return "its lock-delay keeps others out" + (left > Duration(0) ? " for " + human_duration(left) : "");
}

Result<Freed> free_holders(LockState shown, const Options& options, LockAdmin& backend, const Runtime& runtime) {
  OldHolders old(shown.holders, runtime);
  if (auto refused = refuse_data(shown, options)) return std::move(*refused);
  auto freed = backend.free_by_force(shown, who_asks(options.reason));
  if (freed) {
    keep_commands(freed->freed, shown.holders);
    if (!shown.holders.empty() && !is_delayed(shown) && foreign_data(shown).empty())
      record_of_others(Event::Kind::kForceReleased, shown.name, backend.store(), freed->freed, options, runtime);
    std::string delay = delay_text(shown.name, backend, runtime.clock);
    return Freed{std::move(shown), std::move(freed->freed), {}, std::move(old), std::move(delay)};
  }
  Error error = freed.error();
  // To the caller a holder that changed in between is the same as the wrong token: another holder.
  if (error.code == ErrorCode::kConflict) error.code = ErrorCode::kBusy;
  return error;
}

/// The freed holders: exactly the holders that were shown and confirmed.
Result<Freed> free_shown(const LockName& name, const Options& options, LockAdmin& backend, const Runtime& runtime,
                         int input) {
  TRY_ASSIGN(auto state, backend.inspect(name));
  complete_holders(state.holders, runtime.clock.wall());
  if (auto refused = refuse_data(state, options)) return std::move(*refused);
  if (state.holders.empty() && unheard(state).empty()) {
    if (auto elsewhere = held_elsewhere(state, options, backend, options.yes ? "force-release --yes" : "force-release"))
      return std::move(*elsewhere);
    std::string remark = why_free_text(state, backend);
    return Freed{std::move(state), {}, std::move(remark)};
  }
  TRY(expect_token(state, options));
  TRY(confirm(state, options, runtime, input));
  return free_holders(std::move(state), options, backend, runtime);
}

int free_one(const LockName& key, const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out,
             int input) {
  const auto freed = free_shown(key, options, backend, runtime, input);
  if (!freed) return fail(runtime.log, freed.error());
  if (options.json) return print(out, runtime.log, freed_json(*freed, backend.store()));
  const int status = print(out, runtime.log, freed_text(*freed, runtime.clock.wall()));
  if (status != 0 || freed->holders.empty()) return status;
  return print(out, runtime.log, freed->old->fate(freed->holders));
}

/// All that are held, each shown and confirmed. What was not freed does not keep the others from being.
int free_matching(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input) {
  const auto live = look_at_locks(options, backend, runtime.clock);
  if (!live) return fail(runtime.log, live.error());
  int status = !live->unreadable.empty() ? fail(runtime.log, unreadable_error(*live, backend)) : 0;
  bool any = false;
  for (const LockState& state : live->locks) {
    if (state.holders.empty()) continue;
    any = true;
    const int freed = free_one(state.name, options, backend, runtime, out, input);
    if (status == 0) status = freed;
  }
  if (any || status != 0) return status;
  const std::string pattern = printable(options.keys.front().text());
  return options.json ? 0 : print(out, runtime.log, "no held lock matches " + pattern + '\n');
}

}  // namespace

int force_release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input) {
  const LockName& key = options.keys.front();
  if (!is_pattern(key)) return free_one(key, options, backend, runtime, out, input);
  if (!options.token) return free_matching(options, backend, runtime, out, input);
  return fail(runtime.log,
              {ErrorCode::kInvalid, "a token belongs to one lock, and " + key.text() + " may match several",
               "name the lock: dlock force-release --token " + options.token->text() + " KEY"});
}

}  // namespace dlock
