// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cmd/options/arguments.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/holder_process.h"
#include "cmd/show/locks.h"
#include "cmd/wiring/compose.h"
#include "cmd/wiring/recorder.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"
#include "lib/run/holder_process.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstPause = 10ms;  ///< between looks; grows to the last one
constexpr Duration kLastPause = 200ms;

class Revocation {
 public:
  Revocation(const Options& options, LockAdmin& backend, const Runtime& runtime)
      : options_(options), backend_(backend), runtime_(runtime), began_(runtime.clock.now()) {}

  Result<void> run() {
    TRY_ASSIGN(auto state, backend_.inspect(options_.keys.front()));
    asked_ = std::move(state);
    complete_holders(asked_.holders, runtime_.clock.wall());
    if (asked_.holders.empty() && is_pattern(asked_.name)) {
      return Error{ErrorCode::kInvalid, "revoke takes no pattern, and no held lock is called " + asked_.name.text(),
                   "list the locks: dlock inspect " + asked_.name.typed()};
    }
    if (asked_.holders.empty()) return look_elsewhere();
    if (const std::string what = foreign_data(asked_); !what.empty()) return holds_data(asked_.name, what);
    const std::string standing = note_text(asked_.holders.front());
    std::erase_if(asked_.holders, [](const Participant& holder) { return !is_hold(holder.standing); });
    if (asked_.holders.empty()) {
      remark_ = standing;
      return {};
    }
    std::erase_if(asked_.holders,
                  [&](const Participant& holder) { return !options_.slot.empty() && holder.slot != options_.slot; });
    if (asked_.holders.empty()) return {};
    outcome_ = "released";
    record_of_others(Event::Kind::kRevoked, asked_.name, backend_.store(), asked_.holders, options_, runtime_);
    const auto asked = ask();
    if (!asked && asked.error().code != ErrorCode::kConflict) return asked;  // whoever has released it need not hear it
    if (asked) record_ended_leases();
    return wait();
  }

  std::string json() const {
    JsonWriter json("dlock.revoke/1");
    json.field("key", asked_.name.text()).field("store", backend_.store()).field("outcome", outcome_);
    put_participants(json, "holders", asked_.holders);
    return json.key("waited_ms").whole_ms(waited()).end_object().line();
  }

  std::string text() const {
    const std::string& key = asked_.name.text();
    if (!remark_.empty()) return key + ": " + remark_ + '\n';
    if (asked_.holders.empty() && options_.slot.empty()) return key + " is already free\n";
    if (asked_.holders.empty()) return "no holder of " + key + " has the slot " + printable(options_.slot) + "\n";
    std::string text;
    for (const Participant& holder : asked_.holders) text += key + ": " + fate(holder) + '\n';
    return forced_ ? text + forced_->fate(asked_.holders) : text;
  }

 private:
  Result<void> look_elsewhere() {
    if (auto elsewhere = held_elsewhere(asked_, options_, backend_, "revoke")) return std::move(*elsewhere);
    remark_ = why_free_text(asked_, backend_);
    return {};
  }

  std::string fate(const Participant& holder) const {
    const std::string who = participant_text(holder);
    if (runs_nothing(holder)) return "the lease of " + who + " is released: no command of dlock's runs under it";
    if (forced_) return who + " had not ended after " + human_duration(waited()) + ", and has lost the lock by force";
    return who + " has ended and released it after " + human_duration(waited());
  }

  /// Again while the store may do it later: within the wait, and for as long as a silent one is asked.
  Result<void> ask() {
    const TimePoint until = Patience(plan_wait(options_).from(began_)).look_end(began_, runtime_.patience);
    return insist(runtime_.clock, until, kAskAgainPause,
                  [&] { return backend_.ask_to_end(asked_, who_asks(options_.reason)); })
        .answer;
  }

  /// Nobody else can say that they have ended.
  void record_ended_leases() const {
    for (const Participant& holder : asked_.holders) {
      if (runs_nothing(holder))
        record_lease(Event::Kind::kReleased, backend_.store(), holder.owner, holder.token, options_, runtime_);
    }
  }

  Duration waited() const { return ended_ - began_; }

  bool was_asked(const Participant& holder) const {
    return std::any_of(asked_.holders.begin(), asked_.holders.end(),
                       [&](const Participant& one) { return one.owner == holder.owner && one.token == holder.token; });
  }

  /// One of those that were asked and hold it still.
  Result<std::optional<Participant>> one_of_the_asked() {
    TRY_ASSIGN(auto state, backend_.inspect(asked_.name));
    keep_commands(state.holders, asked_.holders);
    for (const Participant& holder : state.holders) {
      if (was_asked(holder) && is_hold(holder.standing)) return std::optional(holder);
    }
    return std::optional<Participant>();
  }

  Result<void> wait() {
    const WaitPolicy policy = plan_wait(options_).from(began_);
    const auto until = policy.once ? std::optional(began_) : policy.until;
    TimePoint answered = began_;
    Duration pause = kFirstPause;
    while (true) {
      const auto holds = one_of_the_asked();
      ended_ = runtime_.clock.now();
      if (holds && !*holds) return {};
      if (holds) answered = ended_;
      else if (holds.error().code != ErrorCode::kUnavailable || ended_ >= answered + runtime_.patience)
        return holds.error();
      if (holds && until && ended_ >= *until) return options_.force ? free() : still_held(**holds);
      runtime_.clock.sleep_until(*earlier(until, ended_ + pause));
      pause = std::min(pause * 3 / 2, kLastPause);
    }
  }

  /// Exactly those that were asked: whoever came in beside them keeps it.
  Result<void> free() {
    TRY_ASSIGN(auto state, backend_.inspect(asked_.name));
    const auto is_other = [this](const Participant& holder) { return !was_asked(holder); };
    if (std::any_of(state.holders.begin(), state.holders.end(), is_other)) {
      return Error{
          ErrorCode::kBusy, asked_.name.text() + " now has holders that were not asked to end",
          "to ask them too, run it again; or take the lock from all: dlock force-release " + asked_.name.typed()};
    }
    OldHolders old(state.holders, runtime_);
    auto freed = backend_.free_by_force(state, who_asks(options_.reason));
    if (!freed) return freed.error();
    outcome_ = "forced";
    keep_commands(freed->freed, asked_.holders);
    asked_.holders = freed->freed;
    record_of_others(Event::Kind::kForceReleased, asked_.name, backend_.store(), asked_.holders, options_, runtime_);
    forced_.emplace(std::move(old));
    return {};
  }

  Error still_held(const Participant& holder) const {
    const std::string key = asked_.name.typed();
    return {ErrorCode::kBusy,
            asked_.name.text() + " is still held by " + participant_text(holder) + ", who was asked " +
                human_duration(waited()) + " ago to end",
            "wait longer with --wait, or take the lock from it: dlock force-release " + key};
  }

  const Options& options_;
  LockAdmin& backend_;
  const Runtime& runtime_;
  const TimePoint began_;
  TimePoint ended_ = began_;
  LockState asked_{.name = options_.keys.front(), .store = {}, .holders = {}, .waiters = {}};
  const char* outcome_ = "free";
  std::string remark_;  ///< why no holder was asked, if that is worth a word
  std::optional<OldHolders> forced_;
};

}  // namespace

int revoke_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  Revocation revocation(options, backend, runtime);
  if (const auto done = revocation.run(); !done) return fail(runtime.log, done.error());
  return print(out, runtime.log, options.json ? revocation.json() : revocation.text());
}

}  // namespace dlock
