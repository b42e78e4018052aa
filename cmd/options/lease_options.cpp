// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/lease_options.h"

#include "cmd/options/usage_error.h"
#include "lib/config/duration_text.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLeastTtl = 1s;

Result<void> no_room(const OptionReader& from, const Setting& setting, const std::string& what, std::string next) {
  return from.refuse(OptionReader::at(setting, {ErrorCode::kInvalid, what, std::move(next)}));
}

/// How long after the last confirmed renewal TERM goes out.
Duration term_after(Duration ttl, Duration kill_after) {
  return term_at(lease_deadline(TimePoint(), ttl), ttl, kill_after) - TimePoint();
}

bool in_file(const Setting& setting) { return setting.origin.layer == Origin::Layer::kFile; }

/// hold and acquire run no command that could be ended, nor does an acquire that leaves no process renew.
bool means_nothing(const Setting& setting, const OptionReader& from, Command command) {
  if (setting.key == option_row(OptionId::kKillAfter).name) {
    return command == Command::kHold || command == Command::kAcquire;
  }
  return command == Command::kAcquire && from.find(OptionId::kWatchPid) == nullptr;
}

Result<void> check_kill_after(const OptionReader& from, Command command, Options& options) {
  const Setting* given = from.find(OptionId::kKillAfter);
  if (given == nullptr || options.ttl > 2 * options.kill_after) return {};
  if (in_file(*given) && means_nothing(*given, from, command)) {
    options.kill_after = default_kill_after(options.ttl);
    return {};
  }
  const std::string ttl = spell_duration(options.ttl);
  return no_room(from, *given,
                 "a ttl of " + ttl + " leaves no room for " + spell_duration(options.kill_after) +
                     " between TERM and KILL: the ttl must be more than twice that",
                 "choose a longer --ttl, or leave --kill-after out (it is " +
                     spell_duration(default_kill_after(options.ttl)) + " then)");
}

Result<void> check_renew_interval(const OptionReader& from, Command command, Options& options) {
  const Setting* given = from.find(OptionId::kRenewInterval);
  if (given != nullptr && means_nothing(*given, from, command)) {
    options.renew_interval = options.ttl / 3;
    if (in_file(*given)) return {};
    return usage_error("--renew-interval means nothing without --watch-pid: nobody renews the lease",
                       "leave it out, or renew with: dlock renew");
  }
  const Duration term = term_after(options.ttl, options.kill_after);
  if (given == nullptr || options.renew_interval < term) return {};
  return no_room(from, *given,
                 "renewing every " + spell_duration(options.renew_interval) + " is too seldom for a ttl of " +
                     spell_duration(options.ttl) + ": CMD is ended " + spell_duration(term) + " after the last renewal",
                 "leave --renew-interval out (it is " + spell_duration(options.ttl / 3) + " then)");
}

}  // namespace

Result<void> read_lease_options(const OptionReader& from, Command command, Options& options) {
  if (auto read = from.read(OptionId::kTtl, kLeastTtl, options.ttl); !read) return read;
  options.ttl_given = from.find(OptionId::kTtl) != nullptr;
  options.kill_after = default_kill_after(options.ttl);
  options.renew_interval = options.ttl / 3;
  if (auto read = from.read(OptionId::kKillAfter, Duration(0), options.kill_after); !read) return read;
  if (auto read = from.read(OptionId::kRenewInterval, Duration(1ms), options.renew_interval); !read) return read;
  if (auto read = from.read(OptionId::kLockDelay, Duration(0), options.lock_delay); !read) return read;
  if (auto fits = check_kill_after(from, command, options); !fits) return fits;
  return check_renew_interval(from, command, options);
}

}  // namespace dlock
