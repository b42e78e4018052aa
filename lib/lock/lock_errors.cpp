// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_errors.h"

namespace dlock {

Result<void> check_exclusive_only(const LockSpec& spec, const std::string& store) {
  std::string what;
  if (spec.mode == Mode::kShared) what = "shared locks";
  if (spec.mode == Mode::kPermits) what = "permits";
  if (spec.fair) what = "fair queue (--fair)";
  if (spec.fair && spec.supersedes != Supersedes::kNothing) what = "queue for --replace and --newest";
  if (spec.lock_delay > Duration(0)) what = "lock-delay";
  if (what.empty()) return {};
  return Error{ErrorCode::kUnsupported, store + " has no " + what + ": only exclusive locks, first try first served",
               "leave the option out, or use another backend (man 7 dlock compares them)"};
}

Error no_present_holder(FencingToken token, const LockName& name) {
  return {ErrorCode::kLost, "token " + token.text() + " does not belong to a current holder of " + name.text(),
          "see who holds it: dlock inspect " + name.typed()};
}

Error not_held(const LockName& name) {
  return {ErrorCode::kLost, name.text() + " is not held by this owner",
          "see who holds it: dlock inspect " + name.typed()};
}

Error token_too_old(const LockName& resource, FencingToken token, const std::string& seen, const std::string& by) {
  return {ErrorCode::kLost,
          "token " + token.text() + " is too old for " + resource.text() + ": " + seen + " was already seen" +
              (by.empty() ? "" : " by " + by),
          "another holder got the lock in between: stop"};
}

Error not_remembered(const LockName& slot) {
  return {ErrorCode::kLost, slot.spoken() + " is not remembered", "nothing was changed"};
}

Error other_holders(const LockName& name) {
  return {ErrorCode::kConflict, name.text() + " has other holders now; nothing was freed"};
}

Error cannot_be_asked(const LockName& name, const std::string& why) {
  return {ErrorCode::kUnsupported, "the holder of " + name.text() + " cannot be asked to end: " + why,
          "end it by its own means, or take the lock from it: dlock force-release " + name.typed()};
}

Error held_otherwise(const LockName& name, const std::string& held) {
  return {ErrorCode::kConflict, name.text() + " is held " + held + ", which is not what was asked for",
          "all callers of one key must agree: see dlock inspect " + name.typed()};
}

Error would_wait_for_itself(const LockName& name) {
  return {ErrorCode::kUnsupported, "an exclusive lock on " + name.text() + " would wait for the hold it is inside of",
          "take it exclusive in the outer command"};
}

std::optional<Error> why_not_entered(Mode mode, int permits, const LockSpec& inner) {
  if (mode == Mode::kExclusive) return std::nullopt;
  if (inner.mode == Mode::kExclusive) return would_wait_for_itself(inner.name);
  if (inner.mode == mode && (mode == Mode::kShared || inner.permits == permits)) return std::nullopt;
  return held_otherwise(inner.name, mode == Mode::kShared ? "shared" : "with --permits " + std::to_string(permits));
}

Error holds_data(const LockName& name, const std::string& what) {
  return {ErrorCode::kMisconfigured, name.text() + " holds " + kForeignData + ": " + what, "choose another key"};
}

}  // namespace dlock
