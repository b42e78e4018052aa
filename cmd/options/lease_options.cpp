// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/lease_options.h"

#include "lib/config/duration_text.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLeastTtl = 1s;

Result<void> check_kill_after(const OptionReader& from, Command command, Options& options) {
  const Setting* given = from.find(OptionId::kKillAfter);
  if (given == nullptr || options.ttl > 2 * options.kill_after) return {};
  const bool ends_nothing = command == Command::kHold || command == Command::kAcquire;
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

}  // namespace

Result<void> read_lease_options(const OptionReader& from, Command command, Options& options) {
  if (auto read = from.read(OptionId::kTtl, kLeastTtl, options.ttl); !read) return read;
  options.ttl_given = from.find(OptionId::kTtl) != nullptr;
  options.kill_after = default_kill_after(options.ttl);
  if (auto read = from.read(OptionId::kKillAfter, Duration(0), options.kill_after); !read) return read;
  if (auto read = from.read(OptionId::kLockDelay, Duration(0), options.lock_delay); !read) return read;
  return check_kill_after(from, command, options);
}

}  // namespace dlock
