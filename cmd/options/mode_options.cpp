// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/mode_options.h"

#include "cmd/options/usage_error.h"
#include "lib/lock/slots.h"

namespace dlock {
namespace {

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

/// The queue that serves who came first is what tells which one is the latest.
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
    return usage_error(option + " is for a lock with one holder, and this one has several",
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

}  // namespace

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

}  // namespace dlock
