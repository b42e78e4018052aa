// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/once_options.h"

#include "cmd/options/usage_error.h"
#include "lib/config/duration_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRemembered = 24h * 7;
constexpr Duration kMostRemembered = 24h * 366;

Result<void> check_fits(const Options& options) {
  if (options.keys.size() != 1) {
    return usage_error("--once is for one KEY, and there are " + std::to_string(options.keys.size()),
                       "give each its own dlock run");
  }
  if (options.mode != Mode::kExclusive) {
    return usage_error(std::string("--once needs an exclusive lock: of ") + mode_name(options.mode) +
                           " ones several would run the slot at the same time",
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
  return usage_error("--remember " + spell_duration(once.remember) + " is longer than a slot is remembered",
                     "at most " + spell_duration(kMostRemembered));
}

Result<void> read_kind(const OptionReader& from, OncePolicy& once) {
  enum class OnceFor { kSuccess, kAny };
  OnceFor chosen = OnceFor::kSuccess;
  if (auto read = from.read_choice(OptionId::kOnceFor, chosen); !read) return read;
  once.any_status = chosen == OnceFor::kAny;
  return {};
}

}  // namespace

Result<void> read_once_options(const OptionReader& from, Options& options) {
  const Setting* slot = from.find(OptionId::kOnce);
  if (options.command == Command::kRelease && from.find(OptionId::kSlot) != nullptr) {
    auto name = slot_name(options.keys.front(), options.slot);
    if (!name) return name.error();
    options.keys.front() = std::move(*name);
  }
  const bool alone = from.given_by_flag(OptionId::kRemember) || from.given_by_flag(OptionId::kOnceFor);
  if (slot == nullptr && alone)
    return usage_error("--remember and --once-for mean nothing without --once", "add --once SLOT");
  if (slot == nullptr) return {};
  if (auto fits = check_fits(options); !fits) return fits;
  auto name = slot_name(options.keys.front(), slot->value());
  if (!name) return name.error();
  OncePolicy once{.slot = std::move(*name), .remember = kRemembered};
  if (auto read = read_remembered(from, once); !read) return read;
  if (auto read = read_kind(from, once); !read) return read;
  options.once = std::move(once);
  if (from.find(OptionId::kConflictExitCode) != nullptr) options.repeated_exit_code = options.conflict_exit_code;
  return {};
}

}  // namespace dlock
