// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/lock_options.h"

#include "cmd/options/command_table.h"
#include "lib/config/duration_text.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

class LockOptions {
 public:
  LockOptions(const OptionReader& from, Options& options) : from_(from), options_(options) {}

  void settle(const Arguments& arguments) {
    settle_wait();
    settle_mode(arguments);
    settle_order();
    settle_kill_after();
    check_max_hold();
  }

 private:
  void refuse(Error error) { options_.mistakes.push_back(std::move(error)); }

  /// What two settings say that do not fit together; `setting` is the one that has to yield.
  void refuse(const Setting& setting, std::string message, std::string next) {
    refuse(OptionReader::at(setting, usage_error(std::move(message), std::move(next))));
  }

  bool typed(OptionId id) const { return from_.find_typed(id) != nullptr; }

  void settle_wait() {
    const bool none = options_.wait == Duration(0);
    // Attempts that were typed are more than what a file or a variable says of waiting for none.
    const bool outdone = typed(OptionId::kTries) && !typed(OptionId::kWait);
    options_.nonblock = options_.nonblock || (none && !outdone);
    if (options_.nonblock || none) options_.wait.reset();
    if (options_.nonblock && options_.tries > 1 && typed(OptionId::kTries)) {
      refuse(usage_error((typed(OptionId::kNonblock) ? "-n" : "-w 0") + std::string(" tries once, --tries asks for ") +
                             std::to_string(options_.tries) + " attempts",
                         "leave one out"));
    }
    if (options_.nonblock) options_.tries = 0;
    const bool pauses = options_.tries > 0 && from_.find(OptionId::kRetryInterval) == nullptr;
    if (pauses) options_.retry_interval = 1s;
  }

  void settle_mode(const Arguments& arguments) {
    const GivenOption* shared = arguments.find(OptionId::kShared);
    const GivenOption* exclusive = arguments.find(OptionId::kExclusive);
    const Setting* permits = from_.find(OptionId::kPermits);
    const bool of_file = permits != nullptr && permits->origin.layer == Origin::Layer::kFile;
    if (of_file && (shared != nullptr || exclusive != nullptr)) options_.permits = 0;
    settle_permits();
    // -x and -s undo each other: the later one wins, as with flock(1).
    if (options_.permits > 0) options_.mode = Mode::kPermits;
    else if (shared != nullptr && (exclusive == nullptr || exclusive < shared)) options_.mode = Mode::kShared;
  }

  /// Each name of a slot is a permit.
  void settle_permits() {
    const int named = static_cast<int>(options_.slots.size());
    if (named == 0) return;
    if (typed(OptionId::kPermits) && options_.permits != named) {
      refuse(usage_error(
          "--permits " + std::to_string(options_.permits) + ", but --slots has " + std::to_string(named) + " names",
          "leave --permits out: each name is one permit"));
    }
    options_.permits = named;
  }

  /// --replace, --newest: the queue in order of arrival says which one is the latest.
  void settle_order() {
    if (options_.supersedes == Supersedes::kNothing) return;
    options_.tries = 0;
    options_.fair = true;
    if (options_.mode == Mode::kExclusive) return;
    const std::string option = options_.supersedes == Supersedes::kReplace ? "--replace" : "--newest";
    refuse(usage_error(option + " is for a lock with one holder, and this one can have several",
                       "leave --shared or --permits out, or give each of them a key of its own"));
  }

  void settle_kill_after() {
    const Duration fitting = default_kill_after(options_.ttl);
    const Setting* given = from_.find(OptionId::kKillAfter);
    const bool ends_nothing = options_.command == Command::kHold || options_.command == Command::kAcquire;
    const bool fits = options_.ttl > 2 * options_.kill_after;
    const bool yields = ends_nothing && !fits && given != nullptr && given->origin.layer == Origin::Layer::kFile;
    if (given == nullptr || yields) options_.kill_after = fitting;
    else if (!fits) {
      refuse(*given,
             "a ttl of " + spell_duration(options_.ttl) + " leaves no room for " + spell_duration(options_.kill_after) +
                 " from TERM to KILL, twice",
             "choose a longer --ttl, or leave --kill-after out (it is " + spell_duration(fitting) + " then)");
    }
  }

  void check_max_hold() {
    if (!options_.max_hold || options_.at_least <= *options_.max_hold) return;
    refuse(*from_.find(OptionId::kMaxHold),
           "the lock is to be held for " + spell_duration(*options_.max_hold) + " at most, and for " +
               spell_duration(options_.at_least) + " at least",
           "choose a longer --max-hold, or a shorter --at-least");
  }

  const OptionReader& from_;
  Options& options_;
};

/// Whether this lock can have slots that run once.
Result<void> check_once(const Options& options) {
  if (options.keys.size() != 1) {
    return usage_error("--once is for one KEY, and there are " + std::to_string(options.keys.size()),
                       "give each its own dlock run");
  }
  if (options.mode != Mode::kExclusive) {
    return usage_error(std::string("--once needs an exclusive lock: of ") + mode_name(options.mode) +
                           " ones, several would run the slot at the same time",
                       "leave --shared, --permits or --slots out");
  }
  const LockName& key = options.keys.front();
  if (key.is_path() || key.is_relative_path()) {
    return usage_error("--once needs a KEY: a file has no place for its slots",
                       "such as nightly instead of " + key.typed());
  }
  return {};
}

}  // namespace

void settle_lock_options(const OptionReader& from, const Arguments& arguments, Options& options) {
  LockOptions(from, options).settle(arguments);
}

Result<void> settle_slots(const OptionReader& from, Options& options) {
  if (options.command == Command::kRelease && from.find(OptionId::kSlot) != nullptr) {
    TRY_ASSIGN(auto name, LockName::of_slot(options.keys.front(), options.slot));
    options.keys.front() = std::move(name);
  }
  const Setting* slot = from.find(OptionId::kOnce);
  if (slot == nullptr) return {};
  TRY(check_once(options));
  TRY_ASSIGN(auto name, LockName::of_slot(options.keys.front(), slot->value()));
  options.once = OncePolicy{.slot = std::move(name), .remember = options.remember};
  if (from.find(OptionId::kConflictExitCode) != nullptr) options.repeated_exit_code = options.conflict_exit_code;
  return {};
}

}  // namespace dlock
