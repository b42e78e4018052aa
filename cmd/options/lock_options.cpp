// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/lock_options.h"

#include <limits>

#include "cmd/options/command_table.h"
#include "lib/config/duration_text.h"
#include "lib/lock/lease.h"
#include "lib/lock/slots.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr int kMostTries = 100'000'000;
constexpr Duration kAnything{0};
constexpr Duration kSomething{1};

Result<void> read_wait(const OptionReader& from, Options& options) {
  if (auto read = from.read(OptionId::kNonblock, options.nonblock); !read) return read;
  if (from.find(OptionId::kWait) == nullptr) return {};
  if (options.nonblock) {
    if (!from.given_by_flag(OptionId::kWait)) return {};
    return usage_error("-n tries once, and -w waits", "leave one out");
  }
  Duration wait{0};
  if (auto read = from.read(OptionId::kWait, kAnything, wait); !read) return read;
  // Attempts that were typed are more than what a file or a variable says of waiting for none.
  const bool outdone = from.given_by_flag(OptionId::kTries) && !from.given_by_flag(OptionId::kWait);
  if (wait == kAnything) options.nonblock = !outdone;
  else options.wait = wait;
  return {};
}

constexpr int kMostPermits = 1'000'000;

Result<void> read_slots(const OptionReader& from, Options& options) {
  if (auto read = from.read_with(OptionId::kSlots, parse_slots, options.slots); !read) return read;
  const int named = static_cast<int>(options.slots.size());
  if (named > 0 && from.given_by_flag(OptionId::kPermits) && options.permits != named) {
    return usage_error(
        "--permits " + std::to_string(options.permits) + ", but --slots has " + std::to_string(named) + " names",
        "leave --permits out: each name is one permit");
  }
  if (named > 0) options.permits = named;
  return {};
}

/// The queue in order of arrival says which one is the latest.
Result<void> read_supersedes(const OptionReader& from, Options& options) {
  bool replace = false;
  bool newest = false;
  if (auto read = from.read(OptionId::kReplace, replace); !read) return read;
  if (auto read = from.read(OptionId::kNewest, newest); !read) return read;
  if (!replace && !newest) return {};
  const std::string option = replace ? "--replace" : "--newest";
  if (replace && newest) {
    return usage_error("--replace and --newest exclude each other", "--newest lets the running one finish");
  }
  if (options.mode != Mode::kExclusive) {
    return usage_error(option + " is for a lock with one holder, and this one can have several",
                       "leave --shared or --permits out, or give each of them a key of its own");
  }
  if (options.tries > 0 && from.given_by_flag(OptionId::kTries)) {
    return usage_error(option + " waits in a queue, and --tries out of it", "limit the wait with --wait");
  }
  options.tries = 0;
  options.fair = true;
  options.supersedes = replace ? Supersedes::kReplace : Supersedes::kNewest;
  return {};
}

constexpr Duration kLeastTtl = 1s;

Result<void> check_kill_after(const OptionReader& from, Options& options) {
  const Setting* given = from.find(OptionId::kKillAfter);
  if (given == nullptr || options.ttl > 2 * options.kill_after) return {};
  const bool ends_nothing = options.command == Command::kHold || options.command == Command::kAcquire;
  if (ends_nothing && given->origin.layer == Origin::Layer::kFile) {
    options.kill_after = default_kill_after(options.ttl);
    return {};
  }
  const std::string ttl = spell_duration(options.ttl);
  return from.refuse(
      OptionReader::at(*given, {ErrorCode::kInvalid,
                                "a ttl of " + ttl + " leaves no room for " + spell_duration(options.kill_after) +
                                    " between TERM and KILL: the ttl must be more than twice that",
                                "choose a longer --ttl, or leave --kill-after out (it is " +
                                    spell_duration(default_kill_after(options.ttl)) + " then)"}));
}

Result<void> read_max_hold(const OptionReader& from, Options& options) {
  const Setting* given = from.find(OptionId::kMaxHold);
  if (given == nullptr) return {};
  Duration most{0};
  if (auto read = from.read(OptionId::kMaxHold, Duration(1ms), most); !read) return read;
  options.max_hold = most;
  if (options.at_least <= most) return {};
  return from.refuse(
      OptionReader::at(*given, {ErrorCode::kInvalid,
                                "the lock is to be held for " + spell_duration(most) + " at most, and for " +
                                    spell_duration(options.at_least) + " at least",
                                "choose a longer --max-hold, or a shorter --at-least"}));
}

constexpr Duration kRemembered = 24h * 7;
constexpr Duration kMostRemembered = 24h * 366;

Result<void> check_fits(const Options& options) {
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
  for (const BackendUrl& url : options.backends) {
    if (url.family != "zookeeper") continue;
    return Error{ErrorCode::kUnsupported, "--once: " + url.redacted() + " remembers nothing without a session",
                 "use Redis, MySQL or this machine; man 7 dlock compares them"};
  }
  return {};
}

Result<void> read_remembered(const OptionReader& from, OncePolicy& once) {
  if (auto read = from.read(OptionId::kRemember, Duration(1s), once.remember); !read) return read;
  if (once.remember <= kMostRemembered) return {};
  return usage_error("--remember " + spell_duration(once.remember) + " is too long",
                     "at most " + spell_duration(kMostRemembered));
}

}  // namespace

Result<void> read_wait_options(const OptionReader& from, Options& options) {
  if (auto read = read_wait(from, options); !read) return read;
  if (auto read = from.read(OptionId::kTries, 1, kMostTries, options.tries); !read) return read;
  options.retry_interval = options.tries > 0 ? Duration(1s) : kAnything;
  if (auto read = from.read(OptionId::kRetryInterval, kSomething, options.retry_interval); !read) return read;
  if (from.given_by_flag(OptionId::kRetryInterval) && options.tries == 0) {
    return usage_error("--retry-interval means nothing without --tries",
                       "add --tries N; without it dlock waits in the queue");
  }
  if (options.nonblock && options.tries > 1 && from.given_by_flag(OptionId::kTries)) {
    const bool typed = from.given_by_flag(OptionId::kNonblock);
    return usage_error((typed ? "-n" : "-w 0") + std::string(" tries once, --tries asks for ") +
                           std::to_string(options.tries) + " attempts",
                       "leave one out");
  }
  if (options.nonblock) options.tries = 0;
  if (auto read = from.read(OptionId::kConflictExitCode, 0, 255, options.conflict_exit_code); !read) return read;
  if (auto read = from.read_with(OptionId::kWarnHeld, parse_warn_held, options.warn_held); !read) return read;
  return from.read(OptionId::kConnectTimeout, kSomething, options.connect_timeout);
}

Result<void> read_mode_options(const OptionReader& from, const Arguments& arguments, Options& options) {
  const GivenOption* shared = arguments.find(OptionId::kShared);
  const GivenOption* exclusive = arguments.find(OptionId::kExclusive);
  const bool typed = shared != nullptr || exclusive != nullptr;
  if (auto read = from.read(OptionId::kPermits, 1, kMostPermits, options.permits); !read) return read;
  const Setting* permits = from.find(OptionId::kPermits);
  if (permits != nullptr && typed && permits->origin.layer == Origin::Layer::kFile) options.permits = 0;
  if (auto read = read_slots(from, options); !read) return read;
  if (options.permits > 0 && typed) {
    return usage_error(
        (options.slots.empty() ? "--permits " + std::to_string(options.permits) : std::string("--slots")) + " and " +
            (shared != nullptr ? shared : exclusive)->spelled + " exclude each other",
        "leave one out; --permits 1 is exclusive");
  }
  // -x and -s undo each other: the later one wins, as with flock(1).
  if (options.permits > 0) options.mode = Mode::kPermits;
  else if (shared != nullptr && (exclusive == nullptr || exclusive < shared)) options.mode = Mode::kShared;
  if (auto read = from.read(OptionId::kFair, options.fair); !read) return read;
  return read_supersedes(from, options);
}

Result<void> read_lease_options(const OptionReader& from, Options& options) {
  if (auto read = from.read(OptionId::kTtl, kLeastTtl, options.ttl); !read) return read;
  options.ttl_given = from.find(OptionId::kTtl) != nullptr;
  options.kill_after = default_kill_after(options.ttl);
  if (auto read = from.read(OptionId::kKillAfter, Duration(0), options.kill_after); !read) return read;
  if (auto read = from.read(OptionId::kLockDelay, Duration(0), options.lock_delay); !read) return read;
  return check_kill_after(from, options);
}

Result<void> read_run_options(const OptionReader& from, const Arguments& arguments, Options& options) {
  if (auto read = from.read_with(OptionId::kOnLost, parse_on_lost, options.on_lost); !read) return read;
  if (auto read = from.read(OptionId::kAtLeast, kAnything, options.at_least); !read) return read;
  if (auto read = read_max_hold(from, options); !read) return read;
  if (auto read = from.read(OptionId::kClose, options.close_lock); !read) return read;
  if (auto read = from.read_with(OptionId::kReason, parse_reason, options.reason); !read) return read;
  if (const Setting* report = from.find(OptionId::kReport)) {
    if (auto fit = check_report(report->value()); !fit) return from.refuse(OptionReader::at(*report, fit.error()));
    options.report = report->value();
  }
  const auto parse_events = from.given_by_flag(OptionId::kEvents) ? parse_open_event_place : parse_event_place;
  if (auto read = from.read_with(OptionId::kEvents, parse_events, options.events); !read) return read;
  if (const GivenOption* text = arguments.find(OptionId::kCommandText)) {
    options.shell_command = std::string(text->value);
  }
  return {};
}

Result<void> read_once_options(const OptionReader& from, Options& options) {
  const Setting* slot = from.find(OptionId::kOnce);
  if (options.command == Command::kRelease && from.find(OptionId::kSlot) != nullptr) {
    TRY_ASSIGN(auto name, LockName::of_slot(options.keys.front(), options.slot));
    options.keys.front() = std::move(name);
  }
  if (slot == nullptr && from.given_by_flag(OptionId::kRemember)) {
    return usage_error("--remember means nothing without --once", "add --once SLOT");
  }
  if (slot == nullptr) return {};
  if (auto fits = check_fits(options); !fits) return fits;
  TRY_ASSIGN(auto name, LockName::of_slot(options.keys.front(), slot->value()));
  OncePolicy once{.slot = std::move(name), .remember = kRemembered};
  if (auto read = read_remembered(from, once); !read) return read;
  options.once = std::move(once);
  if (from.find(OptionId::kConflictExitCode) != nullptr) options.repeated_exit_code = options.conflict_exit_code;
  return {};
}

}  // namespace dlock
